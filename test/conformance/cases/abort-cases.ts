import { getEventListeners } from 'node:events';
import { expect } from 'chai';

import type { Handle, Semaphore } from '../../../src/index.js';
import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { moment } from '../../support/moment.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { untilState } from '../scope.js';

/** The acquire is aborted after a pause: it gives back what it got, or ends with the reason. */
async function abortAfter(
  pause: () => Promise<void> | undefined,
  semaphore: Semaphore,
): Promise<void> {
  const controller = new AbortController();
  const outcome = semaphore.acquire({ signal: controller.signal }).then(
    (handle) => handle.release(),
    (reason: unknown) => reason,
  );
  await pause();
  controller.abort('enough');
  expect(await outcome).to.be.oneOf([true, 'enough']);
}

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

    'leaves nothing when it is aborted before its call is answered [P4]': async (scope) => {
      const semaphore = scope.semaphore();
      const pauses = [() => undefined, () => Promise.resolve(), () => moment(0), () => moment(1)];
      for (const pause of [...pauses, ...pauses]) await abortAfter(pause, semaphore);
      await untilState(semaphore, { held: 0, waiting: 0 });
    },

    'gets the permit or the reason when a release crosses [P4]': needing('queue', async (scope) => {
      const [here, there] = scope.pair();
      for (const delay of [0, 0, 0, 1, 1, 2, 0, 1, 0, 0]) {
        const holder = await there.acquire();
        const crossing = async (): Promise<void> => {
          await scope.untilWaiting(1);
          void holder.release();
          if (delay > 0) await moment(delay);
        };
        await abortAfter(crossing, here);
        expect(await holder.release()).to.equal(true);
      }
    }),

    'takes its listener off a shared signal, however it ends': needing('queue', async (scope) => {
      const { signal } = new AbortController();
      const listeners = (): number => getEventListeners(signal, 'abort').length;
      const semaphore = scope.semaphore({ limit: 20 });
      const twenty = (): Promise<Handle>[] =>
        Array.from({ length: 20 }, () => semaphore.acquire({ signal }));
      const handles = await Promise.all(twenty());
      expect(listeners(), 'granted').to.equal(0);
      for (const timeout of [0, 20]) {
        await errorOf(semaphore.acquire({ signal, timeout }), AcquireTimeoutError);
        expect(listeners(), `timed out after ${timeout} ms`).to.equal(0);
      }
      // Node warns of a leak, which fails the test, when too many listen.
      const waiting = twenty();
      await scope.untilWaiting(20);
      await Promise.all(handles.map((handle) => handle.release()));
      await Promise.all(waiting);
      expect(listeners(), 'granted later').to.equal(0);
      const closed = reasonOf(semaphore.acquire({ signal }));
      await scope.untilWaiting(1);
      await semaphore.close();
      await closed;
      expect(listeners(), 'closed').to.equal(0);
    }),

    'takes its listener off when the backend refuses': needing('server errors', async (scope) => {
      const { signal } = new AbortController();
      await scope.keys.setString(scope.ownKey('tickets'), 'not a sorted set');
      await errorOf(scope.semaphore().acquire({ signal }), BackendError);
      expect(getEventListeners(signal, 'abort')).to.have.lengthOf(0);
      await scope.keys.delete(scope.ownKey('tickets'));
    }),
  },
};
