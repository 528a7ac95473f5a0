import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { HandleLostError } from '../../../src/index.js';
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
const failure = new Error('the job failed');

export const releaseCases = caseGroup('release, use and tryUse', [], (it) => {
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
});
