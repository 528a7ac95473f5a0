import { expect } from 'chai';

import type { Backend, SemaphoreOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';

const MINUTE = 60_000;

interface Crew {
  /** In each process. */
  readonly callers: number;
  readonly minutes: number;
  readonly hold: number;
  readonly groupOf?: (process: number) => string;
  /** A hold of a minute needs extensions with or without a rate: then they are no calls. */
  readonly ignoresExtensions?: boolean;
}

/** The callers of four processes take permits, each caller one after the other. */
async function work(options: SemaphoreOptions, crew: Crew) {
  const { callers, minutes, hold, groupOf = () => undefined, ignoresExtensions = false } = crew;
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const uses: number[] = [];
  let [calls, held, peak] = [0, 0, 0];
  /** A process has its own name, its own queue and its own inbox. */
  const processOn = (): Backend =>
    new Proxy(memory, {
      get: (_, name) => {
        const value: unknown = Reflect.get(memory, name, memory);
        if (typeof value !== 'function') return value;
        const isCounted = name === 'acquire' || name === 'release';
        return (...given: unknown[]): unknown => {
          if (isCounted || (name === 'extend' && !ignoresExtensions)) calls += 1;
          return Reflect.apply(value, memory, given);
        };
      },
    });
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
  const semaphores = [1, 2, 3, 4].map(() => new Semaphore(processOn(), 'api', options));
  const all = semaphores.flatMap((semaphore, process) =>
    Array.from({ length: callers }, () => call(semaphore, process)),
  );
  const ended = Promise.allSettled(all);
  await clock.advance(minutes * MINUTE);
  const usesFrom = (from: number) => uses.filter((at) => at >= from && at < from + MINUTE);
  const mostInMinute = Math.max(...uses.map((at) => usesFrom(at).length));
  const outcome = { grants: uses.length, mostInMinute, peak, calls };
  await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  await clock.advance(60 * MINUTE);
  await ended;
  return outcome;
}

describe('a rate, in several processes', () => {
  const rate = { permits: 100, per: MINUTE };

  it('of 100 a minute and 2 at once is never exceeded, and used to 99 %', async () => {
    const crew = { callers: 10, minutes: 4, hold: 700 };
    const { grants, mostInMinute, peak, calls } = await work({ limit: 2, rate }, crew);
    expect([mostInMinute, peak]).to.deep.equal([100, 2]);
    expect(grants).to.be.at.least(4 * 100 * 0.99);
    // A grant needs three calls: the request queues, asks at the moment that the rate names, and is
    // released. The other calls renew the leases of four waiting processes, every 1.5 s each.
    expect(calls / grants).to.be.below(4.6);
  });

  it('costs one call at each turn, and in groups also at the turns of others', async () => {
    const slow = { limit: 40, rate: { permits: 1, per: 10 * MINUTE, burst: 1 } };
    const crew = { callers: 1, minutes: 31, hold: 60 * MINUTE, ignoresExtensions: true };
    const groupOf = (process: number) => `tenant ${process}`;
    // Four processes ask, three ask again when they listen, and each asks at its turn.
    for (const [given, most] of [
      [crew, 10],
      [{ ...crew, groupOf }, 14],
    ] as const) {
      const { grants, calls } = await work(slow, given);
      expect(grants).to.equal(4);
      expect(calls).to.be.at.most(most);
    }
  });
});
