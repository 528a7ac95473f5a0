import { expect } from 'chai';
import { spy } from 'sinon';

import type { SemaphoreOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { otherDoor } from '../conformance/rows/memory-row.js';

const MINUTE = 60_000;

interface Crew {
  /** In each process. */
  readonly callers: number;
  readonly minutes: number;
  readonly hold: number;
  readonly groupOf?: (process: number) => string;
}

/** The callers of four processes take permits, each caller one after the other. */
async function work(options: SemaphoreOptions, crew: Crew) {
  const { callers, minutes, hold, groupOf = () => undefined } = crew;
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const uses: number[] = [];
  let [held, peak] = [0, 0];
  const calls = [spy(memory, 'acquire'), spy(memory, 'extend'), spy(memory, 'release')];
  const until = clock.monotonic() + minutes * MINUTE;
  const call = async (semaphore: Semaphore, process: number): Promise<void> => {
    while (clock.monotonic() < until) {
      const handle = await semaphore.acquire({ group: groupOf(process) });
      uses.push(clock.monotonic());
      held += 1;
      peak = Math.max(peak, held);
      await new Promise<void>((resolve) => void clock.schedule(resolve, hold));
      held -= 1;
      await handle.release();
    }
  };
  const semaphores = [1, 2, 3, 4].map(() => new Semaphore(otherDoor(memory), 'api', options));
  const all = semaphores.flatMap((semaphore, process) =>
    Array.from({ length: callers }, () => call(semaphore, process)),
  );
  const ended = Promise.allSettled(all);
  await clock.advance(minutes * MINUTE);
  const usesFrom = (from: number) => uses.filter((at) => at >= from && at < from + MINUTE);
  const mostInMinute = Math.max(...uses.map((at) => usesFrom(at).length));
  const sent = calls.reduce((sum, { callCount }) => sum + callCount, 0);
  const outcome = { grants: uses.length, mostInMinute, peak, calls: sent };
  await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  await clock.advance(60 * MINUTE);
  await ended;
  return outcome;
}

describe('a rate, in several processes', () => {
  it('of 100 a minute and 2 at once is never exceeded, and used to 99 %', async () => {
    const rate = { permits: 100, per: MINUTE };
    const crew = { callers: 10, minutes: 4, hold: 700 };
    const { grants, mostInMinute, peak, calls } = await work({ limit: 2, rate }, crew);
    expect([mostInMinute, peak]).to.deep.equal([100, 2]);
    expect(grants).to.be.at.least(4 * 100 * 0.99);
    // A grant needs three calls: the request queues, asks at the moment that the rate names, and is
    // released. The other calls renew the leases of four waiting processes, every 1.5 s each.
    expect(calls / grants).to.be.below(4.6);
  });

  it('costs one call at each turn, and in groups also at the turns of others', async () => {
    const rate = { permits: 1, per: 10 * MINUTE, burst: 1 };
    const slow = { limit: 40, rate, ttl: 120 * MINUTE, extendEvery: 0 };
    const crew = { callers: 1, minutes: 31, hold: 60 * MINUTE };
    const groupOf = (process: number) => `tenant ${process}`;
    // Four processes ask, three ask again when they listen, and each asks at its turn. Three grants
    // are pushed, and claimed.
    for (const [given, most] of [
      [crew, 13],
      [{ ...crew, groupOf }, 17],
    ] as const) {
      const { grants, calls } = await work(slow, given);
      expect(grants).to.equal(4);
      expect(calls).to.be.at.most(most);
    }
  });
});

describe('a request whose group is at its limit', () => {
  const OPTIONS = {
    limit: 4,
    budgets: { tokens: { amount: 100, per: 60 * MINUTE } },
    groupLimit: 1,
    ttl: 10_000,
    extendEvery: 0,
  };

  /** When a request of group 'a' is granted, in seconds: its holder has died. */
  async function grantedAfter(hasLeft: (before: Semaphore, own: Semaphore) => void) {
    const clock = new ManualClock(1_795_236_819_680);
    const memory = new MemoryBackend({ clock });
    const [before, own] = [1, 2].map(() => new Semaphore(otherDoor(memory), 'llm', OPTIONS));
    if (before === undefined || own === undefined) throw new Error('two semaphores were made');
    const paid = await before.acquire({ cost: { tokens: 100 } });
    await paid.release();
    await before.acquire({ group: 'a' });
    const from = clock.monotonic();
    hasLeft(before, own);
    let seconds = Infinity;
    const granted = own.acquire({ group: 'a' }).then(
      () => (seconds = (clock.monotonic() - from) / 1000),
      () => undefined,
    );
    await clock.advance(MINUTE);
    const closed = Promise.all([before.close(), own.close()]);
    await clock.advance(MINUTE);
    await Promise.all([closed, granted]);
    return seconds;
  }

  for (const whose of ['its', 'another'] as const) {
    it(`is granted soon after its holder has died, though the head of ${whose} process has left`, async () => {
      const seconds = await grantedAfter((before, own) => {
        const semaphore = whose === 'its' ? own : before;
        semaphore.acquire({ cost: { tokens: 100 }, timeout: 2000 }).catch(() => undefined);
      });
      expect(seconds).to.be.within(10, 12);
    });
  }
});
