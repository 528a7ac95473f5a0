import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, HandleLostError } from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { caseGroup } from '../scope.js';

type Job = (handle: Handle) => unknown;

/** By either call: with a permit free they do the same. */
const CALLS: readonly ((semaphore: Semaphore, job: Job) => Promise<unknown>)[] = [
  (semaphore, job) => semaphore.use(job),
  async (semaphore, job) => {
    const outcome = await semaphore.tryUse(job);
    return outcome.ran ? outcome.result : expect.fail('there is a free permit');
  },
];
const never = (): never => expect.fail('it ran without a permit');
const failure = new Error('the job failed');

export const releaseCases = caseGroup('release, use, tryUse and await using', [], (it) => {
  it('release says each time whether the ticket was held, and frees no successor [P7]', async (scope) => {
    const [here, there] = scope.pair();
    for (const end of ['release', 'loss', 'known loss']) {
      const handle = await here.acquire();
      const release = () => Promise.all([handle.release(), handle.release()]);
      if (end !== 'release') await scope.ageTicket(handle, 0);
      else expect(await release()).to.deep.equal([true, true]);
      if (end === 'known loss') await errorOf(handle.extend(), HandleLostError);
      const successor = await there.acquire();
      expect(await release()).to.deep.equal([end === 'release', end === 'release']);
      await handle[Symbol.asyncDispose]();
      expect(handle.signal.aborted).to.equal(end === 'known loss');
      await successor.extend();
      expect(await here.tryAcquire()).to.equal(null);
      expect(await successor.release()).to.equal(true);
    }
  });

  it('use and tryUse hide neither result nor error of the function, lost or not [P7]', async (scope) => {
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

  it('use and tryUse take timeout and permits as acquire and tryAcquire do', async (scope) => {
    const [here, there] = scope.pair({ limit: 3 });
    for (const permits of [3, 1]) {
      const held = await here.use(({ slots }) => slots.length, { permits, timeout: 0 });
      const tried = await there.tryUse(({ slots }) => slots.length, { permits });
      expect([held, tried]).to.deep.equal([permits, { ran: true, result: permits }]);
    }
    await there.acquire();
    for (const timeout of [0, 20]) {
      await errorOf(here.use(never, { permits: 3, timeout }), AcquireTimeoutError);
    }
    expect(await here.tryUse(never, { permits: 3 })).to.deep.equal({ ran: false });
    expect(await there.inspect()).to.include({ held: 1, waiting: 0 });
  });

  it('await using releases at the end of the block, whatever happened in it', async (scope) => {
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
