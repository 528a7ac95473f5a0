import { expect } from 'chai';

import { MemoryBackend, Semaphore } from '../../../src/index.js';
import { ManualClock } from '../../../src/time/manual-clock.js';

describe('close with drain', () => {
  const open = (limit: number) => {
    const clock = new ManualClock();
    const backend = new MemoryBackend({ clock });
    const make = (): Semaphore => new Semaphore(backend, 'jobs', { limit, ttl: 1000 });
    return { clock, old: make(), fresh: make() };
  };

  it('takes permits only when its time is over, and renews them until then', async () => {
    const { clock, old, fresh } = open(1);
    const handle = await old.acquire();
    const losses: [number, string][] = [];
    handle.on('lost', ({ reason }) => losses.push([clock.monotonic(), reason]));
    const start = clock.monotonic();
    const closing = old.close({ drain: 5000 });
    for (let passed = 0; passed < 4999; passed += 1) await clock.advance(1);
    expect(handle.held).to.equal(true);
    expect(await fresh.tryAcquire()).to.equal(null);
    await clock.advance(1);
    await closing;
    expect(losses).to.deep.equal([[start + 5000, 'closed']]);
    expect(await fresh.tryAcquire()).to.include({ held: true });
    await fresh.close();
    expect(clock.timers).to.equal(0);
  });

  it('ends at once when the last permit is lost, and by a second close', async () => {
    const { clock, old, fresh } = open(1);
    const first = await old.acquire();
    const draining = old.close({ drain: 60_000 });
    await fresh.revoke(first.id);
    await draining;
    await old.close({ drain: 60_000 });
    const handle = await fresh.acquire();
    const closing = fresh.close({ drain: 60_000 });
    const again = fresh.close({ drain: 1000 });
    expect(handle.held).to.equal(true);
    await fresh.close();
    await Promise.all([closing, again]);
    expect([handle.held, clock.monotonic(), clock.timers]).to.deep.equal([false, 0, 0]);
  });
});
