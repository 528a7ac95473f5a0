import { expect } from 'chai';
import { spy } from 'sinon';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import type { SemaphoreOptions } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { telemetry } from '../../src/telemetry.js';
import { ChannelLog } from './channel-log.js';

const NAME = 'without-subscriber';

/** Counts how often time is read: most messages need it. */
class CountingClock extends ManualClock {
  readings = 0;

  override monotonic(): number {
    this.readings += 1;
    return super.monotonic();
  }
}

/** Goes through everything that has a channel; a handle that is dropped is left out. */
async function everything(clock: ManualClock): Promise<void> {
  const backend = new MemoryBackend({ clock });
  const make = (options: Partial<SemaphoreOptions>): Semaphore =>
    new Semaphore(backend, NAME, { limit: 1, ttl: 1000, ...options });
  const semaphore = make({});
  const first = await semaphore.acquire();
  const second = semaphore.acquire();
  await clock.advance(400);
  await first.release();
  const adopted = await semaphore.adopt((await second).toJSON());
  const tried = await make({ limit: 2 }).tryAcquire();
  await tried?.release();
  await semaphore.revoke(adopted.id);
  await adopted.release();
  await semaphore.acquire(-1).catch(() => undefined);
  await semaphore.close();
  await clock.advance(0);
}

describe('telemetry without a subscriber', () => {
  it('publishes nothing, so makes no message, and traces no call', async () => {
    const messages = spy(
      Object.getPrototypeOf(telemetry.grant) as typeof telemetry.grant,
      'publish',
    );
    const calls = spy(telemetry.acquire, 'tracePromise');
    await everything(new ManualClock());
    expect(messages.callCount).to.equal(0);
    expect(calls.callCount).to.equal(0);
    // The same with a listener goes through every channel: else there would be nothing to see above.
    const log = new ChannelLog(NAME);
    await everything(new ManualClock());
    log.end();
    const unheard = ['redsem:drop'];
    const heard = new Set(log.channels);
    for (const name of Object.keys(telemetry)) {
      const channels = [`redsem:${name}`, `tracing:redsem:${name}:start`];
      if (unheard.includes(`redsem:${name}`)) continue;
      expect(
        channels.some((each) => heard.has(each)),
        name,
      ).to.equal(true);
    }
    expect(messages.callCount).to.be.above(0);
    expect(calls.callCount).to.be.above(0);
  });

  it('reads no clock for it', async () => {
    const without = new CountingClock();
    await everything(without);
    const log = new ChannelLog(NAME);
    const heard = new CountingClock();
    await everything(heard);
    log.end();
    const again = new CountingClock();
    await everything(again);
    expect(again.readings).to.equal(without.readings);
    expect(heard.readings).to.be.above(without.readings);
  });

  it('is off again when the last listener goes', () => {
    const log = new ChannelLog(NAME);
    expect(telemetry.grant.active).to.equal(true);
    expect(telemetry.acquire.hasSubscribers).to.equal(true);
    log.end();
    expect(telemetry.grant.active).to.equal(false);
    expect(telemetry.acquire.hasSubscribers).to.equal(false);
  });
});
