import { getEventListeners } from 'node:events';
import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';
import { warningsDuring } from '../warnings.js';

const retry = { min: 5, max: 20 };

/** A release and an abort at the same moment: the waiter gets the one or the other, and nothing is lost. */
async function raceAbortWithRelease(scope: Scope, delay: number): Promise<void> {
  const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
  const holder = await there.acquire();
  const controller = new AbortController();
  const waiting = here.acquire({ signal: controller.signal });
  const outcome = waiting.then(
    (handle: Handle) => handle.release(),
    (reason: unknown) => reason,
  );
  await scope.untilWaiting(1);
  const released = holder.release();
  if (delay > 0) await moment(delay);
  controller.abort('enough');
  await released;
  expect(await outcome).to.be.oneOf([true, 'enough']);
  const next = await there.acquire();
  expect(await next.release()).to.equal(true);
}

export const abortCases: CaseGroup = {
  title: 'an aborted wait',
  cases: {
    'rejects at once with the reason of a signal that is aborted already [M 11, M 12]': async (
      scope,
    ) => {
      const reason = new Error('no need');
      const semaphore = scope.semaphore();
      const signal = AbortSignal.abort(reason);
      expect(await reasonOf(semaphore.acquire({ signal }))).to.equal(reason);
      expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
    },

    'rejects with the very reason of the signal, an error or not [RS 9, M 11]': async (scope) => {
      await scope.elsewhere().acquire();
      const semaphore = scope.semaphore();
      for (const reason of [new Error('changed my mind'), 'stop', 0, null, { code: 7 }]) {
        const controller = new AbortController();
        const waiting = reasonOf(semaphore.acquire({ signal: controller.signal }));
        await scope.untilWaiting(1);
        controller.abort(reason);
        expect(await waiting).to.equal(reason);
        await scope.untilWaiting(0);
      }
    },

    'rejects with the standard reasons [SG]': async (scope) => {
      await scope.elsewhere().acquire();
      const semaphore = scope.semaphore();
      const controller = new AbortController();
      const aborted = errorOf(semaphore.acquire({ signal: controller.signal }), DOMException);
      await scope.untilWaiting(1);
      controller.abort();
      expect((await aborted).name).to.equal('AbortError');
      const signal = AbortSignal.timeout(20);
      const late = await errorOf(semaphore.acquire({ signal }), DOMException);
      expect(late.name).to.equal('TimeoutError');
    },

    'leaves nothing: the permit goes to the next [RS 9, P4]': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const holder = await there.acquire();
      const controller = new AbortController();
      const waiting = reasonOf(here.acquire({ signal: controller.signal }));
      await scope.untilWaiting(1);
      controller.abort('enough');
      await waiting;
      await scope.untilWaiting(0);
      await holder.release();
      expect(await there.tryAcquire()).to.include({ held: true });
    },

    'leaves nothing when it is aborted before its call is answered [P4]': async (scope) => {
      const semaphore = scope.semaphore();
      const pauses = [undefined, () => Promise.resolve(), () => moment(0), () => moment(1)];
      for (const pause of [...pauses, ...pauses]) {
        const controller = new AbortController();
        const outcome = semaphore.acquire({ signal: controller.signal }).then(
          (handle) => handle.release(),
          (reason: unknown) => reason,
        );
        await pause?.();
        controller.abort('enough');
        expect(await outcome).to.be.oneOf([true, 'enough']);
      }
      await eventually(async () => {
        expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      });
    },

    'gets either the permit or its reason when a release crosses it [P4]': async (scope) => {
      for (const delay of [0, 0, 0, 1, 1, 2, 0, 1, 0, 0]) await raceAbortWithRelease(scope, delay);
    },

    'does nothing to a handle once it is held': async (scope) => {
      const controller = new AbortController();
      const handle = await scope.semaphore().acquire({ signal: controller.signal });
      controller.abort();
      expect(handle.held).to.equal(true);
      expect(handle.signal.aborted).to.equal(false);
      expect(await handle.release()).to.equal(true);
    },

    'does not run the function of `use`': async (scope) => {
      await scope.elsewhere().acquire();
      const controller = new AbortController();
      let ran = false;
      const run = (): void => {
        ran = true;
      };
      const using = reasonOf(scope.semaphore().use(run, { signal: controller.signal }));
      await scope.untilWaiting(1);
      controller.abort('enough');
      expect(await using).to.equal('enough');
      expect(ran).to.equal(false);
    },

    'takes its listener off a shared signal, however it ends': async (scope) => {
      const { signal } = new AbortController();
      const semaphore = scope.semaphore({ retry });
      const handle = await semaphore.acquire({ signal });
      expect(getEventListeners(signal, 'abort'), 'granted').to.have.lengthOf(0);
      await errorOf(semaphore.acquire({ signal, timeout: 0 }), AcquireTimeoutError);
      expect(getEventListeners(signal, 'abort'), 'one try').to.have.lengthOf(0);
      await errorOf(semaphore.acquire({ signal, timeout: 20 }), AcquireTimeoutError);
      expect(getEventListeners(signal, 'abort'), 'timed out').to.have.lengthOf(0);
      const waiting = semaphore.acquire({ signal });
      await scope.untilWaiting(1);
      await handle.release();
      await waiting;
      expect(getEventListeners(signal, 'abort'), 'granted later').to.have.lengthOf(0);
      const closed = reasonOf(semaphore.acquire({ signal }));
      await scope.untilWaiting(1);
      await semaphore.close();
      await closed;
      expect(getEventListeners(signal, 'abort'), 'closed').to.have.lengthOf(0);
    },

    'takes its listener off a shared signal when the backend refuses': needing(
      ['keys', 'server errors'],
      async (scope) => {
        const { signal } = new AbortController();
        await scope.keys.setString(scope.ownKey('tickets'), 'not a sorted set');
        await errorOf(scope.semaphore().acquire({ signal }), BackendError);
        expect(getEventListeners(signal, 'abort')).to.have.lengthOf(0);
        await scope.keys.delete(scope.ownKey('tickets'));
      },
    ),

    'warns of no leak when 20 wait on one signal at a time': async (scope) => {
      const semaphore = scope.semaphore({ limit: 20, retry });
      const { signal } = new AbortController();
      const warnings = await warningsDuring(async () => {
        const acquire = (): Promise<Handle> => semaphore.acquire({ signal });
        const first = await Promise.all(Array.from({ length: 20 }, acquire));
        const waiting = Array.from({ length: 20 }, acquire);
        await scope.untilWaiting(20);
        await Promise.all(first.map((handle) => handle.release()));
        for (const handle of await Promise.all(waiting)) await handle.release();
      });
      expect(warnings.map(({ name }) => name)).to.deep.equal([]);
      expect(getEventListeners(signal, 'abort')).to.have.lengthOf(0);
    },
  },
};
