import { expect } from 'chai';

import { HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { thrownBy } from '../bad-argument.js';
import { errorOf } from '../../support/rejection.js';

export const releaseCases: CaseGroup = {
  title: 'release',
  cases: {
    'gives the permit back and says so [RS 6]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      expect(await handle.release()).to.equal(true);
      expect(await scope.elsewhere().inspect()).to.include({ held: 0 });
      expect(await scope.elsewhere().tryAcquire()).to.include({ held: true });
    },

    'leaves the other holders alone [RS 7]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 2 }), scope.elsewhere({ limit: 2 })];
      const [one, two] = [await here.acquire(), await there.acquire()];
      await one.release();
      const { holders } = await here.inspect();
      expect(holders.map(({ id }) => id)).to.deep.equal([two.id]);
      await two.extend();
    },

    'says the same the second time, and at the same time [M 9, RS 30, O 3b, AM]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      expect(await Promise.all([handle.release(), handle.release()])).to.deep.equal([true, true]);
      expect(await handle.release()).to.equal(true);
      expect(await scope.semaphore().inspect()).to.include({ held: 0 });
    },

    'takes nothing from the next holder when it is called again [M 9, O 3b, AS]': async (scope) => {
      const first = await scope.semaphore().acquire();
      await first.release();
      const second = await scope.elsewhere().acquire();
      expect(await first.release()).to.equal(true);
      await first[Symbol.asyncDispose]();
      await second.extend();
      expect(await scope.semaphore().tryAcquire()).to.equal(null);
    },

    'never frees the successor of a handle that has expired [O 2c, O 3b, SM]': async (scope) => {
      const stale = await scope.semaphore().acquire();
      await scope.ageTicket(stale, 0);
      const successor = await scope.elsewhere().acquire();
      expect(await stale.release()).to.equal(false);
      await successor.extend();
      expect(await scope.semaphore().tryAcquire()).to.equal(null);
      expect(await successor.release()).to.equal(true);
    },

    'tells with false that the ticket was gone [O 1b, RU 5]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      let lost = 0;
      handle.on('lost', () => (lost += 1));
      await scope.removeTicket(handle);
      expect(await handle.release()).to.equal(false);
      expect(await handle.release()).to.equal(false);
      expect(lost).to.equal(0);
    },

    'tells with false that the handle had been lost [P7, RL#168]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      await scope.removeTicket(handle);
      await errorOf(handle.extend(), HandleLostError);
      expect(await handle.release()).to.equal(false);
    },

    'ends what the handle says of itself at once [RL4 6]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const releasing = handle.release();
      expect(handle).to.include({ held: false, expiresIn: 0 });
      const error = thrownBy(() => handle.assertHeld());
      expect(error).to.be.instanceOf(HandleLostError);
      expect(error).to.include({ reason: 'closed', semaphore: scope.name, ticketId: handle.id });
      await releasing;
      expect(handle.signal.aborted).to.equal(false);
    },

    'is told by one `released` event': async (scope) => {
      const handle = await scope.semaphore().acquire();
      let released = 0;
      handle.on('released', () => (released += 1));
      const releasing = handle.release();
      expect(released).to.equal(0);
      await releasing;
      await handle.release();
      await handle[Symbol.asyncDispose]();
      expect(released).to.equal(1);
    },

    'ends an extension under way, which brings nothing back [RS 22, RS 26, P7]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      for (let round = 0; round < 5; round += 1) {
        const handle = await semaphore.acquire();
        let lost = 0;
        handle.on('lost', () => (lost += 1));
        const extending = handle.extend().catch((error: unknown) => error);
        if (round > 1) await Promise.resolve();
        expect(await handle.release()).to.equal(true);
        const outcome = await extending;
        if (outcome !== undefined) expect(outcome).to.be.instanceOf(HandleLostError);
        expect(lost).to.equal(0);
        expect(await semaphore.inspect()).to.include({ held: 0 });
      }
    },

    'makes later extensions fail without a call [RL4 9]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      await handle.release();
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ code: 'HANDLE_LOST', reason: 'closed' });
    },

    'frees many at once': async (scope) => {
      const semaphore = scope.semaphore({ limit: 50 });
      const handles = await Promise.all(Array.from({ length: 50 }, () => semaphore.acquire()));
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect(new Set(released)).to.deep.equal(new Set([true]));
      expect(await semaphore.inspect()).to.include({ held: 0 });
    },
  },
};
