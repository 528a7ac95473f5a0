import { expect } from 'chai';

import type { AcquireOptions, Backend, RateOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';

const MINUTE = 60_000;
interface Crew {
  readonly rate: RateOptions;
  readonly limit: number;
  /** Left out: 4. */
  readonly processes?: number;
  /** Callers in each process. */
  readonly tasks: number;
  /** Each process asks for a group. */
  readonly grouped?: boolean;
  readonly hold: number;
}

interface Outcome {
  /** When each permit was granted, in milliseconds. */
  readonly grants: number[];
  readonly peak: number;
  readonly calls: number;
}

/** A process: it has its own name, its own queue and its own inbox. */
function door(memory: MemoryBackend, onCall: () => void): Backend {
  const counted = <C, R>(call: (calls: readonly C[]) => R) => {
    return (calls: readonly C[]): R => {
      onCall();
      return call(calls);
    };
  };
  return {
    clock: memory.clock,
    acquire: counted((calls) => memory.acquire(calls)),
    extend: counted((calls) => memory.extend(calls)),
    release: counted((calls) => memory.release(calls)),
    setRate: (call) => memory.setRate(call),
    inspect: (call) => memory.inspect(call),
    listen: (client, prefix, listener) => memory.listen(client, prefix, listener),
  };
}

/** Callers in some processes that take permits one after the other, for some minutes. */
async function work(crew: Crew, minutes: number): Promise<Outcome> {
  const { rate, limit, processes = 4, tasks, hold, grouped = false } = crew;
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const grants: number[] = [];
  let [calls, held, peak] = [0, 0, 0];
  const until = clock.monotonic() + minutes * MINUTE;
  const semaphores = Array.from({ length: processes }, () => {
    const own = door(memory, () => (calls += 1));
    return new Semaphore(own, 'api', { limit, rate });
  });
  const call = async (semaphore: Semaphore, order: AcquireOptions): Promise<void> => {
    while (clock.monotonic() < until) {
      await semaphore.use(async () => {
        grants.push(clock.monotonic());
        held += 1;
        peak = Math.max(peak, held);
        await new Promise<void>((resolve) => void clock.schedule(resolve, hold));
        held -= 1;
      }, order);
    }
  };
  const all = semaphores.flatMap((semaphore, i) => {
    const order = grouped ? { group: `process ${i}`, weight: 1 + (i % 3) } : {};
    return Array.from({ length: tasks }, () => call(semaphore, order).catch(() => undefined));
  });
  await clock.advance(minutes * MINUTE);
  const outcome = { grants, peak, calls };
  await Promise.all(semaphores.map((semaphore) => semaphore.close()));
  await clock.advance(MINUTE);
  await Promise.all(all);
  return outcome;
}

/** The largest number of grants in any window of that length. */
function mostIn(grants: readonly number[], window: number): number {
  return Math.max(
    ...grants.map((from) => grants.filter((at) => at >= from && at < from + window).length),
  );
}

describe('a rate, in several processes', () => {
  const rate = { permits: 100, per: MINUTE };

  it('of 100 a minute and 2 at once is never above, and used to 99 %', async () => {
    const { grants, peak, calls } = await work({ rate, limit: 2, tasks: 10, hold: 700 }, 4);
    expect(mostIn(grants, MINUTE)).to.equal(100);
    expect(peak).to.equal(2);
    expect(grants.length).to.be.at.least(4 * 100 * 0.99);
    // Three are needed: one to queue, one that comes at the moment which the rate names, and one to
    // release. The others renew the leases of four waiting processes, every 1.5 s each.
    expect(calls / grants.length).to.be.below(4.6);
  });

  for (const grouped of [false, true]) {
    it(`is asked for by the process that is next, of 24 ${grouped ? 'groups' : 'in the order of arrival'}`, async () => {
      const ten = { permits: 10, per: 1000 };
      const crew = { rate: ten, limit: 1000, processes: 24, tasks: 20, hold: 10, grouped };
      const { grants, calls } = await work(crew, 1);
      expect(grants.length).to.be.at.least(60 * 10 * 0.99);
      // Three for each, and what renews the leases of 24 processes, every 1.5 s each.
      expect(calls / grants.length).to.be.below(3 + 24 / 1.5 / 10 + 0.5);
    });
  }

  it('with a burst is used in full', async () => {
    const burst = { ...rate, burst: 5 };
    const { grants } = await work({ rate: burst, limit: Infinity, tasks: 10, hold: 100 }, 3);
    expect(mostIn(grants, MINUTE)).to.equal(104);
    expect(grants.length).to.be.within(300, 305);
  });
});
