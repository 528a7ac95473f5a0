import { expect } from 'chai';

import { errorOf, reasonOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';

export const abortCases: CaseGroup = {
  title: 'an aborted wait',
  cases: {
    'rejects at once when it is aborted already, and is over once it holds': async (scope) => {
      const reason = new Error('no need');
      const semaphore = scope.semaphore();
      const signal = AbortSignal.abort(reason);
      expect(await reasonOf(semaphore.acquire({ signal }))).to.equal(reason);
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      const controller = new AbortController();
      const handle = await semaphore.acquire({ signal: controller.signal });
      controller.abort();
      expect(handle.held).to.equal(true);
      expect(handle.signal.aborted).to.equal(false);
      expect(await handle.release()).to.equal(true);
    },

    'rejects with the very reason, leaves nothing [P4]': needing('queue', async (scope) => {
      const holder = await scope.elsewhere().acquire();
      const semaphore = scope.semaphore();
      let ran = false;
      const run = (): boolean => (ran = true);
      for (const reason of [new Error('changed my mind'), 'stop', 0, null, { code: 7 }]) {
        const controller = new AbortController();
        const { signal } = controller;
        const waits = [semaphore.acquire({ signal }), semaphore.use(run, { signal })];
        const reasons = waits.map((wait: Promise<unknown>) => reasonOf(wait));
        await scope.untilWaiting(2);
        controller.abort(reason);
        for (const each of reasons) expect(await each).to.equal(reason);
        await scope.untilWaiting(0);
      }
      const late = await errorOf(semaphore.acquire({ signal: AbortSignal.timeout(20) }), Error);
      expect(late.name).to.equal('TimeoutError');
      await holder.release();
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
      expect(ran).to.equal(false);
    }),
  },
};
