import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, HandleLostError } from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { caseGroup } from '../case-group.js';

type Job<T> = (handle: Handle) => T | Promise<T>;

/** By either call: with a permit free they do the same. */
const CALLS = [
  <T>(semaphore: Semaphore, job: Job<T>) => semaphore.use(job),
  async <T>(semaphore: Semaphore, job: Job<T>) => {
    const outcome = await semaphore.tryUse(job);
    if (!outcome.ran) throw new Error('there is a free permit');
    return outcome.result;
  },
];
const failure = new Error('the job failed');

export const releaseCases = caseGroup('release, use, tryUse and await using', [], (it) => {
  it('gives the permit back, resolves with true each time, and takes no other permit', async (scope) => {
    const [here, there] = scope.pair({ limit: 2 });
    const [first, second] = [await here.acquire(), await there.acquire()];
    expect(await Promise.all([first.release(), first.release()])).to.deep.equal([true, true]);
    const { holders } = await there.inspect();
    expect(holders.map(({ id }) => id)).to.deep.equal([second.id]);
    const third = await there.acquire(0);
    expect(await first.release()).to.equal(true);
    await first[Symbol.asyncDispose]();
    for (const handle of [second, third]) await handle.extend();
    expect(await here.tryAcquire()).to.equal(null);
  });

  it('resolves with false for a lost ticket, known or not, and frees no successor [P7]', async (scope) => {
    const [here, there] = scope.pair();
    for (const known of [false, true]) {
      const stale = await here.acquire();
      await scope.ageTicket(stale, 0);
      if (known) await errorOf(stale.extend(), HandleLostError);
      const successor = await there.acquire();
      expect([await stale.release(), await stale.release()]).to.deep.equal([false, false]);
      expect(stale.signal.aborted).to.equal(known);
      await successor.extend();
      expect(await here.tryAcquire()).to.equal(null);
      expect(await successor.release()).to.equal(true);
    }
  });

  it('run the function with a handle, and hide neither result nor error, lost or not [P7]', async (scope) => {
    const semaphore = scope.semaphore();
    const throwing = (): never => {
      throw failure;
    };
    for (const call of CALLS) {
      const result = await call(semaphore, async (handle) => {
        expect(handle.held).to.equal(true);
        expect(await scope.elsewhere().tryAcquire()).to.equal(null);
        return 'result';
      });
      expect(result).to.equal('result');
      expect(await call(semaphore, () => undefined)).to.equal(undefined);
      expect(await reasonOf(call(semaphore, throwing))).to.equal(failure);
      expect(await reasonOf(call(semaphore, () => Promise.reject(failure)))).to.equal(failure);
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      const released = call(semaphore, async (handle) => {
        await handle.release();
        return semaphore.tryUse(() => 'early');
      });
      expect(await released).to.deep.equal({ ran: true, result: 'early' });
      const lost = call(semaphore, (handle) => scope.removeTicket(handle).then(() => 'lost'));
      expect(await lost).to.equal('lost');
      const failing = call(semaphore, (handle) => scope.removeTicket(handle).then(throwing));
      expect(await reasonOf(failing)).to.equal(failure);
    }
  });

  it('take timeout and permits as acquire and tryAcquire do', async (scope) => {
    const [here, there] = scope.pair({ limit: 3 });
    expect(await here.use(({ slots }) => slots, { permits: 3 })).to.deep.equal([0, 1, 2]);
    const holder = await there.acquire();
    let runs = 0;
    const run = (): number => (runs += 1);
    for (const timeout of [0, 20]) {
      await errorOf(here.use(run, { permits: 3, timeout }), AcquireTimeoutError);
    }
    expect(await there.tryUse(run, { permits: 3 })).to.deep.equal({ ran: false });
    expect(runs).to.equal(0);
    expect(await there.inspect()).to.include({ held: 1, waiting: 0 });
    await holder.release();
    expect(await there.tryUse(run, { permits: 3 })).to.deep.equal({ ran: true, result: 1 });
  });

  it('release at the end of the block, whatever happened in it', async (scope) => {
    const semaphore = scope.semaphore({ limit: 3 });
    const handles: Handle[] = [];
    const block = async (): Promise<void> => {
      await using kept = await semaphore.acquire();
      await using lost = await semaphore.acquire();
      await using released = await semaphore.acquire();
      await using closing = scope.semaphore({ limit: 3 });
      await released.release();
      handles.push(kept, lost, released, await closing.acquire());
      await scope.removeTicket(lost);
      throw failure;
    };
    expect(await reasonOf(block())).to.equal(failure);
    expect(handles.map(({ held }) => held)).to.deep.equal([false, false, false, false]);
    expect(await semaphore.inspect()).to.include({ held: 0 });
  });
});
