import { expect } from 'chai';

import { ManualClock } from '../../src/manual-clock.js';
import { MemoryBackend } from '../../src/memory/memory-backend.js';
import { Semaphore } from '../../src/semaphore.js';
import { WakeTimer } from '../../src/wake-timer.js';
import { StubBackend, watch } from './stub-backend.js';
import { moment } from '../support/moment.js';

const DAY = 86_400_000;

describe('timeouts that are longer than a timer', () => {
  it('do not end a wait at once, on the clock of the process', async () => {
    const semaphore = new Semaphore(new MemoryBackend(), 'jobs', { limit: 1 });
    const holding = await semaphore.acquire();
    const settled: unknown[] = [];
    for (const timeout of [2 ** 31, 2 ** 33, Number.MAX_SAFE_INTEGER, Infinity]) {
      semaphore.acquire(timeout).then(
        (handle) => settled.push(handle),
        (error: unknown) => settled.push(error),
      );
    }
    await moment(30);
    expect(settled).to.deep.equal([]);
    await holding.release();
    await semaphore.close();
  });

  it('end a wait when they are over', async () => {
    const backend = new StubBackend();
    // Fewer tries make a day of the manual clock short.
    const retry = { min: DAY, max: DAY, factor: 1, jitter: false };
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1, retry });
    const timeout = 2 ** 33;
    const waiting = watch(backend.clock, semaphore.acquire(timeout));
    await backend.clock.advance(timeout - 1);
    expect(waiting.done).to.equal(false);
    await backend.clock.advance(1);
    expect(waiting.at).to.equal(timeout);
    expect(waiting.error).to.be.an('error').with.property('code', 'ACQUIRE_TIMEOUT');
  });

  it('never fire before their time, even where a timer does', async () => {
    const clock = new ManualClock();
    const early = {
      monotonic: () => clock.monotonic(),
      wall: () => clock.wall(),
      schedule: (callback: () => void, delay: number) =>
        // As Node's timers do, which count in whole milliseconds.
        clock.schedule(callback, delay > 10 ? delay - 5 : delay),
    };
    let at: number | undefined;
    const timer = new WakeTimer(early, true, () => (at = clock.monotonic()));
    timer.wakeBy(100, 0);
    await clock.advance(500);
    timer.stop();
    expect(at).to.be.within(100, 102);
  });

  it('can be called off between two timers', async () => {
    const clock = new ManualClock();
    let fired = false;
    const timer = new WakeTimer(clock, true, () => (fired = true));
    timer.wakeBy(2 ** 33, 0);
    await clock.advance(2 ** 32);
    timer.stop();
    await clock.advance(2 ** 34);
    expect([fired, clock.timers]).to.deep.equal([false, 0]);
  });
});
