import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { moment } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf, reasonOf } from '../../support/rejection.js';

export const useCases: CaseGroup = {
  title: 'use and await using',
  cases: {
    'runs the function with a handle and gives its result [BN 30, RU 6, V, AM, O 3]': async (
      scope,
    ) => {
      const semaphore = scope.semaphore();
      const asynchronous = await semaphore.use(async (handle) => {
        expect(handle.held).to.equal(true);
        expect(await semaphore.tryAcquire()).to.equal(null);
        return 'result';
      });
      expect(asynchronous).to.equal('result');
      expect(await semaphore.use(() => 5)).to.equal(5);
      expect(await semaphore.use(() => {})).to.equal(undefined);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'releases and passes on what the function throws or rejects with [RU 6, V, AM]': async (
      scope,
    ) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const throwing = (): never => {
        throw failure;
      };
      expect(await reasonOf(semaphore.use(throwing))).to.equal(failure);
      const rejecting = semaphore.use(() => Promise.reject(failure));
      expect(await reasonOf(rejecting)).to.equal(failure);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'hides neither result nor error when the permit was lost meanwhile [P7, SG, RL#168]': async (
      scope,
    ) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const result = await semaphore.use(async (handle) => {
        await scope.removeTicket(handle);
        return 'result';
      });
      expect(result).to.equal('result');
      const using = semaphore.use(async (handle) => {
        await scope.removeTicket(handle);
        throw failure;
      });
      expect(await reasonOf(using)).to.equal(failure);
    },

    'tells a release that fails beside an error as its cause, and changes no result [P7]': needing(
      ['keys', 'server errors'],
      async (scope) => {
        const semaphore = scope.semaphore({ limit: 2 });
        const spoil = (): Promise<void> => scope.keys.setString(scope.ownKey('tickets'), 'wrong');
        const mend = (): Promise<void> => scope.keys.delete(scope.ownKey('tickets'));
        const failure = new Error('the job failed');
        const failing = semaphore.use(async () => {
          await spoil();
          throw failure;
        });
        expect(await reasonOf(failing)).to.equal(failure);
        expect(failure.cause).to.be.instanceOf(BackendError);
        expect((failure.cause as Error).message).to.match(/WRONGTYPE/);
        await mend();
        const outcome = await semaphore.tryUse(() => spoil().then(() => 'result'));
        expect(outcome).to.deep.equal({ ran: true, result: 'result' });
        await mend();
      },
    ),

    'takes timeout and permits as acquire does [AM]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const slots = await semaphore.use((handle) => handle.slots, { permits: 3 });
      expect(slots).to.deep.equal([0, 1, 2]);
      await scope.elsewhere({ limit: 3 }).acquire();
      let ran = false;
      const run = (): void => {
        ran = true;
      };
      await errorOf(semaphore.use(run, { permits: 3, timeout: 20 }), AcquireTimeoutError);
      await errorOf(semaphore.use(run, { permits: 3, timeout: 0 }), AcquireTimeoutError);
      expect(ran).to.equal(false);
    },

    'may release early by itself': async (scope) => {
      const semaphore = scope.semaphore();
      const seen = await semaphore.use(async (handle) => {
        await handle.release();
        return semaphore.tryAcquire();
      });
      expect(seen).to.include({ held: true });
    },

    'keeps two uses apart [RL5 9]': async (scope) => {
      const semaphores = [scope.semaphore(), scope.elsewhere({ retry: { min: 5, max: 20 } })];
      let inside = 0;
      const work = async (): Promise<void> => {
        inside += 1;
        expect(inside).to.equal(1);
        await moment(2);
        inside -= 1;
      };
      await Promise.all([...semaphores, ...semaphores].map((s) => s.use(work)));
    },

    'releases at the end of the block with `await using` [O 2c, RL4 17, SG]': async (scope) => {
      const semaphore = scope.semaphore();
      {
        await using handle = await semaphore.acquire();
        expect(handle.held).to.equal(true);
      }
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'releases with `await using` when the block throws [SG]': async (scope) => {
      const semaphore = scope.semaphore();
      const failure = new Error('the job failed');
      const block = async (): Promise<void> => {
        await using handle = await semaphore.acquire();
        expect(handle.held).to.equal(true);
        throw failure;
      };
      expect(await reasonOf(block())).to.equal(failure);
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },

    'never throws at the end of a block, lost or released before [M 7, SG]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const handles: Handle[] = [];
      {
        await using lost = await semaphore.acquire();
        await using released = await semaphore.acquire();
        handles.push(lost, released);
        await released.release();
        await scope.removeTicket(lost);
      }
      expect(handles.map(({ held }) => held)).to.deep.equal([false, false]);
    },

    'closes the semaphore itself with `await using`': async (scope) => {
      let handle: Handle;
      {
        await using semaphore = scope.semaphore();
        handle = await semaphore.acquire();
      }
      expect(handle.held).to.equal(false);
      expect(await scope.semaphore().inspect()).to.include({ held: 0 });
    },
  },
};
