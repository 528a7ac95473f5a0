import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { ClosedError, HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf } from '../../support/rejection.js';
import { lossToldAtOnce } from '../told-at-once.js';

const retry = { min: 5, max: 20 };

function lossOf(handle: Handle): Promise<HandleLostError> {
  return new Promise((resolve) => {
    handle.once('lost', resolve);
  });
}

export const revokeCases: CaseGroup = {
  title: 'revocation',
  cases: {
    'takes a ticket from its holder': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      const [handle, other] = [await here.acquire(), await here.acquire()];
      const [shown] = (await there.inspect()).holders;
      expect(await there.revoke(shown?.id ?? '')).to.equal(true);
      const { held, holders } = await there.inspect();
      expect(held).to.equal(1);
      expect(holders.map(({ id }) => id)).to.deep.equal([other.id]);
      await other.extend();
      const next = await there.tryAcquire();
      expect(next).to.include({ slot: 0 });
      expect(next?.fencingToken).to.be.greaterThan(other.fencingToken);
      expect(await handle.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 2 });
    },

    'is told to the holder at its next extension, where nothing is pushed': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const lost = lossOf(handle);
      const released: string[] = [];
      handle.on('released', () => released.push('released'));
      expect(await scope.elsewhere().revoke(handle.id)).to.equal(true);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'revoked', ticketId: handle.id, semaphore: scope.name });
      expect(await lost).to.equal(error);
      expect(handle.signal.reason).to.equal(error);
      expect(handle.held).to.equal(false);
      expect(await handle.release()).to.equal(false);
    },

    'is told by the heartbeat, too': async (scope) => {
      const handle = await scope.semaphore({ extendEvery: 20, retry }).acquire();
      const lost = lossOf(handle);
      await scope.elsewhere().revoke(handle.id);
      expect(await scope.within(10_000, lost)).to.include({ reason: 'revoked' });
    },

    'is told to the holder of the only ticket, with nobody else about': async (scope) => {
      const holders = [scope.semaphore({ limit: 2 }), scope.semaphore({ limit: 2, label: 'b' })];
      const handles = [await holders[0]?.acquire(), await holders[1]?.acquire()];
      const operator = scope.elsewhere({ limit: 2 });
      for (const handle of handles) await operator.revoke(handle?.id ?? '');
      expect(await operator.inspect()).to.include({ held: 0 });
      for (const handle of handles) {
        const extending = handle?.extend() ?? Promise.resolve();
        expect(await errorOf(extending, HandleLostError)).to.include({ reason: 'revoked' });
      }
    },

    'is told to the holder at once where its process waits': needing('push', async (scope) => {
      const error = await lossToldAtOnce(scope, (there, handle) => there.revoke(handle.id));
      expect(error).to.include({ reason: 'revoked' });
    }),

    'is told to the holder at once in the same process': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const lost = lossOf(handle);
      expect(await scope.semaphore({ label: 'operator' }).revoke(handle.id)).to.equal(true);
      expect(await lost).to.include({ reason: 'revoked' });
      expect(handle.held).to.equal(false);
    },

    'gives its permit to the next waiter': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const handle = await here.acquire();
      const served: string[] = [];
      const first = there.acquire().then((next) => [served.push('first'), next] as const);
      await scope.untilWaiting(1);
      const second = here.acquire().then((next) => [served.push('second'), next] as const);
      await scope.untilWaiting(2);
      await there.revoke(handle.id);
      const [, next] = await first;
      expect(served).to.deep.equal(['first']);
      expect(next.fencingToken).to.be.greaterThan(handle.fencingToken);
      expect(await handle.release()).to.equal(false);
      expect(await there.inspect()).to.include({ held: 1, waiting: 1 });
      await next.release();
      await second;
    },

    'frees all permits of a ticket at once': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 4 }), scope.elsewhere({ limit: 4, retry })];
      const three = await here.acquire({ permits: 3 });
      await here.acquire();
      const waiting = there.acquire({ permits: 3 });
      await scope.untilWaiting(1);
      expect(await there.revoke(three.id)).to.equal(true);
      expect((await waiting).slots).to.deep.equal([0, 1, 2]);
    },

    'does nothing to what is no ticket: unknown, released, waiting': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere()];
      const released = await here.acquire();
      await released.release();
      const holder = await there.acquire();
      const waiting = here.acquire();
      await scope.untilWaiting(1);
      const request = (await there.inspect()).waiters[0]?.id ?? '';
      for (const id of ['nobody.1', released.id, request]) {
        expect(await there.revoke(id)).to.equal(false);
      }
      expect(await there.inspect()).to.include({ held: 1, waiting: 1 });
      await holder.extend();
      await holder.release();
      expect(await waiting).to.include({ held: true });
    },

    'of a ticket that has expired tells that it was not there': async (scope) => {
      const handle = await scope.semaphore({ extendEvery: 0 }).acquire();
      await scope.ageTicket(handle, 0);
      expect(await scope.elsewhere().revoke(handle.id)).to.equal(false);
    },

    'a second time tells the same, and takes nothing from anybody else': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const handle = await here.acquire();
      expect(await there.revoke(handle.id)).to.equal(true);
      const next = await there.acquire();
      expect(await there.revoke(handle.id)).to.equal(true);
      await next.extend();
      expect(await there.inspect()).to.include({ held: 1 });
    },

    'leaves nothing to adopt': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const handle = await here.acquire();
      const message = handle.toJSON();
      await there.revoke(handle.id);
      await errorOf(there.adopt(message), HandleLostError);
      expect(await there.inspect()).to.include({ held: 0 });
    },

    'reaches a ticket that was adopted by its new id, not by its old one': async (scope) => {
      const [here, there] = [scope.semaphore(), scope.elsewhere()];
      const first = await here.acquire();
      const adopted = await there.adopt(first.toJSON());
      expect(await here.revoke(first.id)).to.equal(false);
      await adopted.extend();
      expect(await here.revoke(adopted.id)).to.equal(true);
      const error = await errorOf(adopted.extend(), HandleLostError);
      expect(error).to.include({ reason: 'revoked', ticketId: adopted.id });
      await errorOf(there.adopt(first.toJSON()), HandleLostError);
    },

    'wants the id of a ticket, and a semaphore that is open': async (scope) => {
      const semaphore = scope.semaphore();
      for (const id of [undefined, 5, '', 'no id', 'a.1;b.2', 'a.1|']) {
        const error = await errorOf(semaphore.revoke(id as string), TypeError);
        expect(error.message).to.match(/^ticketId: expected the id of a ticket, got /);
      }
      await semaphore.close();
      await errorOf(semaphore.revoke('nobody.1'), ClosedError);
    },
  },
};
