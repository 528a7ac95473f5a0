import { expect } from 'chai';

import { HandleLostError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { thrownBy } from '../scope.js';

/** [M 9, RS 6, RS 7, RS 22, RS 26, RS 30, RL4 6, RL4 9, RL#168, RU 5, AM, AS, SM, O 1b, O 2c, O 3b, O 4b] */
export const releaseCases: CaseGroup = {
  title: 'release',
  cases: {
    'gives the permit back, says so each time, takes no other': async (scope) => {
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
    },

    'never frees the successor of a handle that has expired': async (scope) => {
      const stale = await scope.semaphore().acquire();
      await scope.ageTicket(stale, 0);
      const successor = await scope.elsewhere().acquire();
      expect([await stale.release(), await stale.release()]).to.deep.equal([false, false]);
      await successor.extend();
      expect(await scope.semaphore().tryAcquire()).to.equal(null);
      expect(await successor.release()).to.equal(true);
    },

    'is false where the ticket was gone, whether the handle knew or not [P7]': async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      await scope.removeTicket(handle);
      expect([await handle.release(), await handle.release()]).to.deep.equal([false, false]);
      expect(losses).to.equal(0);
      const known = await semaphore.acquire();
      await scope.lose(known);
      expect(await known.release()).to.equal(false);
    },

    'ends the handle at once, with one `released` event, for every later call': async (scope) => {
      const handle = await scope.semaphore().acquire();
      let released = 0;
      handle.on('released', () => (released += 1));
      const releasing = handle.release();
      expect(handle).to.include({ held: false, expiresIn: 0 });
      const error = thrownBy(() => handle.assertHeld());
      expect(error).to.be.instanceOf(HandleLostError);
      expect(error).to.include({ reason: 'closed', semaphore: scope.name, ticketId: handle.id });
      expect(released).to.equal(0);
      await releasing;
      await handle.release();
      await handle[Symbol.asyncDispose]();
      expect(released).to.equal(1);
      expect(handle.signal.aborted).to.equal(false);
      const late = await errorOf(handle.extend(), HandleLostError);
      expect(late).to.include({ code: 'HANDLE_LOST', reason: 'closed' });
    },

    'ends an extension under way, which brings nothing back [P7]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      for (let round = 0; round < 5; round += 1) {
        const handle = await semaphore.acquire();
        let losses = 0;
        handle.on('lost', () => (losses += 1));
        const extending = handle.extend().catch((error: unknown) => error);
        if (round > 1) await Promise.resolve();
        expect(await handle.release()).to.equal(true);
        const outcome = await extending;
        if (outcome !== undefined) expect(outcome).to.be.instanceOf(HandleLostError);
        expect(losses).to.equal(0);
        expect(await semaphore.inspect()).to.include({ held: 0 });
      }
    },
  },
};
