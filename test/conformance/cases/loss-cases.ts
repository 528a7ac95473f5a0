import { once } from 'node:events';
import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { HandleLostError } from '../../../src/index.js';
import { thrownBy } from '../bad-argument.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import type { Scope } from '../scope.js';

const quick = { ttl: 20_000, extendEvery: 15 };

function lossOf(handle: Handle): Promise<HandleLostError> {
  return new Promise((resolve) => {
    handle.once('lost', resolve);
  });
}

function expectMissing(error: unknown, handle: Handle): void {
  expect(error).to.be.instanceOf(HandleLostError);
  expect(error).to.include({
    code: 'HANDLE_LOST',
    name: 'HandleLostError',
    reason: 'missing',
    semaphore: handle.name,
    ticketId: handle.id,
  });
}

async function expectLost(scope: Scope, handle: Handle): Promise<void> {
  expectMissing(await scope.within(5000, lossOf(handle)), handle);
  expect(handle).to.include({ held: false, expiresIn: 0 });
}

export const lossCases: CaseGroup = {
  title: 'a ticket that is gone',
  cases: {
    'is noticed at the next extension [M 17, RS 18, RU 6, RD]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      await scope.removeTicket(handle);
      await expectLost(scope, handle);
    },

    'is noticed when it expired there, not here [P6, BN 10]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      await scope.ageTicket(handle, 0);
      await expectLost(scope, handle);
    },

    'is noticed when its key was deleted [M 17, the failure table]': needing(
      'keys',
      async (scope) => {
        const handle = await scope.semaphore(quick).acquire();
        await scope.keys.delete(scope.ownKey('tickets'));
        await expectLost(scope, handle);
      },
    ),

    'is noticed when any one of its keys was deleted, or the permit is still counted [P1]': needing(
      'keys',
      async (scope) => {
        for (const part of ['tickets', 'slots', 'free', 'meta']) {
          const name = scope.freshName();
          const here = scope.semaphore({ limit: 2, ...quick, extendEvery: 0 }, name);
          const there = scope.elsewhere({ limit: 2 }, name);
          const handles = [await here.acquire(), await here.acquire()];
          await scope.keys.delete(`redsem:{${name}}:${part}`);
          const extended = await Promise.allSettled(handles.map((handle) => handle.extend()));
          const kept = extended.filter(({ status }) => status === 'fulfilled').length;
          const taken = [
            await there.tryAcquire(),
            await there.tryAcquire(),
            await there.tryAcquire(),
          ];
          const given = taken.filter((handle) => handle !== null);
          expect(kept + given.length, `without ${part}`).to.equal(2);
          const live = [...handles.filter(({ held }) => held), ...given];
          expect(new Set(live.map(({ slot }) => slot)), `without ${part}`).to.have.lengthOf(2);
        }
      },
    ),

    'aborts the signal with that very error [M 17, RL5, RU 6]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      const { signal } = handle;
      const aborted = once(signal, 'abort');
      const lost = lossOf(handle);
      await scope.removeTicket(handle);
      await scope.within(5000, aborted);
      expectMissing(signal.reason, handle);
      expect(await lost).to.equal(signal.reason);
      expect(handle.signal).to.equal(signal);
      expect(thrownBy(() => handle.assertHeld())).to.equal(signal.reason);
      expect(thrownBy(() => signal.throwIfAborted())).to.equal(signal.reason);
    },

    'aborts a signal that is first looked at after an extension': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      await handle.extend();
      await moment(40);
      const { signal } = handle;
      await scope.removeTicket(handle);
      await eventually(() => expect(signal.aborted).to.equal(true));
      expectMissing(signal.reason, handle);
    },

    'takes only the handle whose ticket it was [RS 7]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2, ...quick });
      const [gone, kept] = [await semaphore.acquire(), await semaphore.acquire()];
      let lost = 0;
      kept.on('lost', () => (lost += 1));
      await scope.removeTicket(gone);
      await expectLost(scope, gone);
      await kept.extend();
      expect(kept.held).to.equal(true);
      expect(lost).to.equal(0);
    },

    'is not taken again in silence [RS 23, RS#175]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      await scope.removeTicket(handle);
      const next = await scope.elsewhere().acquire(0);
      await expectLost(scope, handle);
      await moment(50);
      const { holders } = await scope.elsewhere().inspect();
      expect(holders.map(({ id }) => id)).to.deep.equal([next.id]);
    },

    'does not stop the semaphore: the next acquire works [RD 19]': async (scope) => {
      const semaphore = scope.semaphore(quick);
      const handle = await semaphore.acquire();
      await scope.removeTicket(handle);
      await expectLost(scope, handle);
      const next = await semaphore.acquire();
      expect(next.fencingToken).to.be.greaterThan(handle.fencingToken);
      await next.extend();
    },

    'ends the wait of those who stood behind it [M 17]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      const waiting = scope.elsewhere({ retry: { min: 5, max: 20 } }).acquire();
      await scope.untilWaiting(1);
      await scope.removeTicket(handle);
      expect(await waiting).to.include({ held: true });
      await eventually(() => expect(handle.held).to.equal(false));
    },
  },
};
