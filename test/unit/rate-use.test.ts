import { expect } from 'chai';

import type { AcquireOptions, Backend, Handle, SemaphoreOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { RandomNumbers } from '../support/random-numbers.js';

const MINUTE = 60_000;

interface Crew {
  readonly processes?: number;
  /** In each process. */
  readonly callers: number;
  readonly minutes: number;
  readonly hold?: () => number;
  readonly optionsOf?: (process: number, caller: number) => AcquireOptions;
  /** The units that a handle has spent. */
  readonly spend?: (handle: Handle, options: AcquireOptions) => number;
  /** A hold of a minute needs extensions with or without a rate: then they are no calls. */
  readonly ignoresExtensions?: boolean;
}

/** Callers in some processes that take permits one after the other. */
async function work(options: SemaphoreOptions, crew: Crew) {
  const { processes = 4, callers, minutes, hold = () => 0, optionsOf = () => ({}) } = crew;
  const { spend = () => 1, ignoresExtensions = false } = crew;
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const uses: { readonly at: number; spent: number }[] = [];
  let [calls, held, peak] = [0, 0, 0];
  const counted = <C, R>(call: (all: readonly C[]) => R) => {
    return (all: readonly C[]): R => {
      calls += 1;
      return call(all);
    };
  };
  const extend: Backend['extend'] = (all) => memory.extend(all);
  /** A process has its own name, its own queue and its own inbox. */
  const processOn = (): Backend => ({
    clock,
    acquire: counted((all) => memory.acquire(all)),
    extend: ignoresExtensions ? extend : counted(extend),
    release: counted((all) => memory.release(all)),
    setRate: (call) => memory.setRate(call),
    setGroupLimit: (call) => memory.setGroupLimit(call),
    inspect: (call) => memory.inspect(call),
    listen: (client, prefix, listener) => memory.listen(client, prefix, listener),
  });
  const until = clock.monotonic() + minutes * MINUTE;
  const call = async (semaphore: Semaphore, process: number, caller: number): Promise<void> => {
    while (clock.monotonic() < until) {
      const given = optionsOf(process, caller);
      const handle = await semaphore.acquire(given);
      const use = { at: clock.monotonic(), spent: 1 };
      uses.push(use);
      held += 1;
      peak = Math.max(peak, held);
      await new Promise<void>((resolve) => void clock.schedule(resolve, hold()));
      held -= 1;
      use.spent = spend(handle, given);
      await handle.release();
    }
  };
  const semaphores = Array.from({ length: processes }, () => {
    return new Semaphore(processOn(), 'api', options);
  });
  const all = semaphores.flatMap((semaphore, process) =>
    Array.from({ length: callers }, (_, caller) => call(semaphore, process, caller)),
  );
  const ended = Promise.allSettled(all);
  await clock.advance(minutes * MINUTE);
  const sumFrom = (from: number): number =>
    uses.reduce((sum, { at, spent }) => (at >= from && at < from + MINUTE ? sum + spent : sum), 0);
  const mostInMinute = Math.max(...uses.map(({ at }) => sumFrom(at)));
  const outcome = { grants: uses.length, mostInMinute, peak, calls };
  await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  await clock.advance(60 * MINUTE);
  await ended;
  return outcome;
}

describe('a rate, in several processes', () => {
  const rate = { permits: 100, per: MINUTE };

  it('of 100 a minute and 2 at once is never exceeded, and used to 99 %', async () => {
    const crew = { callers: 10, minutes: 4, hold: () => 700 };
    const { grants, mostInMinute, peak, calls } = await work({ limit: 2, rate }, crew);
    expect([mostInMinute, peak]).to.deep.equal([100, 2]);
    expect(grants).to.be.at.least(4 * 100 * 0.99);
    // A grant needs three calls: the request queues, asks at the moment that the rate names, and is
    // released. The other calls renew the leases of four waiting processes, every 1.5 s each.
    expect(calls / grants).to.be.below(4.6);
  });

  it('costs one call at each turn, and in groups also at the turns of others', async () => {
    const slow = { limit: 40, rate: { permits: 1, per: 10 * MINUTE, burst: 1 } };
    const crew = { callers: 1, minutes: 31, hold: () => 60 * MINUTE, ignoresExtensions: true };
    const optionsOf = (process: number) => ({ group: `tenant ${process}` });
    // Four processes ask, three ask again when they listen, and each asks at its turn.
    for (const [given, most] of [
      [crew, 10],
      [{ ...crew, optionsOf }, 14],
    ] as const) {
      const { grants, calls } = await work(slow, given);
      expect(grants).to.equal(4);
      expect(calls).to.be.at.most(most);
    }
  });
});

describe('a budget, in several processes', () => {
  it('is never spent above its amount and burst in a minute', async () => {
    const tokens = { amount: 90_000, per: MINUTE };
    const options = { limit: 40, groupLimit: 8, budgets: { tokens } };
    const random = new RandomNumbers(2);
    const { grants, mostInMinute, calls } = await work(options, {
      callers: 10,
      minutes: 6,
      hold: () => 6000 * random.next(),
      ignoresExtensions: true,
      optionsOf: (_, caller) => ({
        group: `tenant ${caller % 5}`,
        cost: { tokens: random.between(1, 4000) },
      }),
      spend: (handle, { cost }) => {
        const spent = Math.floor((cost?.['tokens'] ?? 0) * random.next());
        handle.spent = { tokens: spent };
        return spent;
      },
    });
    expect(grants).to.be.above(100);
    expect(mostInMinute).to.be.at.most(2 * tokens.amount);
    // A call to queue, a call at the time that the budget names, a call to release.
    expect(calls / grants).to.be.below(3.2);
  });
});
