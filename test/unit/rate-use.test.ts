import { expect } from 'chai';

import type { Backend, RateOptions } from '../../src/index.js';
import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';

const MINUTE = 60_000;
const PROCESSES = 4;

interface Crew {
  readonly rate: RateOptions;
  readonly limit: number;
  /** Callers in each process. */
  readonly tasks: number;
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

/** Callers in four processes that take permits one after the other, for some minutes. */
async function work({ rate, limit, tasks, hold }: Crew, minutes: number): Promise<Outcome> {
  const clock = new ManualClock(1_795_236_819_680);
  const memory = new MemoryBackend({ clock });
  const grants: number[] = [];
  let [calls, held, peak] = [0, 0, 0];
  const until = clock.monotonic() + minutes * MINUTE;
  const semaphores = Array.from({ length: PROCESSES }, () => {
    const own = door(memory, () => (calls += 1));
    return new Semaphore(own, 'api', { limit, rate });
  });
  const call = async (semaphore: Semaphore): Promise<void> => {
    while (clock.monotonic() < until) {
      await semaphore.use(async () => {
        grants.push(clock.monotonic());
        held += 1;
        peak = Math.max(peak, held);
        await new Promise<void>((resolve) => void clock.schedule(resolve, hold));
        held -= 1;
      });
    }
  };
  const all = semaphores.flatMap((semaphore) =>
    Array.from({ length: tasks }, () => call(semaphore).catch(() => undefined)),
  );
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

describe('a rate, in four processes', () => {
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

  it('with a burst is used in full', async () => {
    const burst = { ...rate, burst: 5 };
    const { grants } = await work({ rate: burst, limit: Infinity, tasks: 10, hold: 100 }, 3);
    expect(mostIn(grants, MINUTE)).to.equal(104);
    expect(grants.length).to.be.within(300, 305);
  });
});
