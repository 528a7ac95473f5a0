import { expect } from 'chai';

import { ClosedError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup, needing } from '../case-group.js';
import { expectLost, untilLost, untilState } from '../scope.js';

export const closeCases: CaseGroup = {
  title: 'close',
  cases: {
    'releases its handles, each lost once, however often it is called': async (scope) => {
      const semaphore = scope.semaphore({ limit: 4 });
      const staying = await scope.semaphore({ limit: 4 }).acquire();
      const handles = [await semaphore.acquire(), await semaphore.acquire({ permits: 2 })];
      const lost = handles.map(untilLost);
      let losses = 0;
      for (const handle of [...handles, staying]) handle.on('lost', () => (losses += 1));
      const again = lost.map((loss) => loss.then(() => semaphore.acquire(0)));
      const refused = again.map((acquiring) => errorOf(acquiring, ClosedError));
      await Promise.all([semaphore.close(), semaphore.close()]);
      await semaphore[Symbol.asyncDispose]();
      for (const [i, handle] of handles.entries()) {
        await expectLost(handle, await lost[i], 'closed');
      }
      await Promise.all(refused);
      // Another object of the same client and name keeps its permits.
      await staying.extend();
      expect(losses).to.equal(2);
      expect(await scope.elsewhere().inspect()).to.include({ held: 1 });
    },

    'rejects its waiters, and no others [P8]': needing('queue', async (scope) => {
      const holder = await scope.elsewhere().acquire();
      const [closing, staying] = [scope.semaphore(), scope.semaphore()];
      const rejected = [1, 2, 3].map(() => errorOf(closing.acquire(), ClosedError));
      const waiting = staying.acquire();
      await scope.untilWaiting(4);
      await closing.close();
      for (const error of await Promise.all(rejected)) {
        expect(error).to.include({ name: 'ClosedError', code: 'CLOSED' });
        expect(error.message).to.include(scope.name);
      }
      await untilState(staying, { held: 1, waiting: 1 });
      await holder.release();
      expect(await waiting).to.include({ held: true });
      const elsewhere = scope.elsewhere().acquire();
      await scope.untilWaiting(1);
      await staying.close();
      expect(await elsewhere).to.include({ held: true });
    }),

    'with drain leaves holders their permits until they release': async (scope) => {
      const [closing, there] = scope.pair({ limit: 2 });
      const handles = [await closing.acquire(), await closing.acquire()];
      let losses = 0;
      for (const handle of handles) handle.on('lost', () => (losses += 1));
      const waiter = errorOf(closing.acquire(), ClosedError);
      let closed = false;
      const close = closing.close({ drain: 60_000 }).then(() => (closed = true));
      await waiter;
      await errorOf(closing.acquire(), ClosedError);
      await errorOf(closing.tryAcquire(), ClosedError);
      for (const handle of handles) {
        await handle.extend();
        expect(await there.tryAcquire(), 'never above the limit').to.equal(null);
      }
      expect(await handles[0]?.release()).to.equal(true);
      expect(await there.acquire(0)).to.include({ held: true });
      expect(closed).to.equal(false);
      expect(await handles[1]?.release()).to.equal(true);
      await close;
      expect(losses).to.equal(0);
    },

    'rejects calls that are under way or come later, and leaves nothing [P4]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const calls = [semaphore.acquire(), semaphore.acquire(), semaphore.tryAcquire()];
      const errors = calls.map((call) => errorOf(call, ClosedError));
      await semaphore.close();
      await Promise.all(errors);
      for (const call of [
        semaphore.acquire(0),
        semaphore.tryAcquire(),
        semaphore.use(() => {}),
        semaphore.tryUse(() => {}),
        semaphore.inspect(),
      ]) {
        await errorOf<Error>(call, ClosedError);
      }
      const again = scope.semaphore();
      expect(await again.inspect()).to.include({ held: 0, waiting: 0 });
      expect(await again.acquire(0), 'the client can still be used').to.include({ held: true });
    },
  },
};
