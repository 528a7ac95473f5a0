import { expect } from 'chai';

import { HandleLostError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { expectLost, thrownBy, untilLost } from '../scope.js';

/** Time passes here and is all that these cases need. */
export const timeCases: CaseGroup = {
  title: 'the passing of time',
  needs: ['time'],
  cases: {
    'ends a handle by the end of its ttl, counted from before the call [P6]': async (scope) => {
      const semaphore = scope.semaphore({ ttl: 300, extendEvery: 0 });
      const sent = scope.time.now();
      const handle = await semaphore.acquire();
      const error = await scope.within(1000, untilLost(handle));
      expect(scope.time.now() - sent).to.be.within(290, 300 + scope.time.late);
      await expectLost(handle, error, 'expired');
      // The server may have run the call later than it was sent: the ticket lives on for as long.
      const next = await scope.within(5000, scope.elsewhere().acquire());
      expect(next.held).to.equal(true);
    },

    'is seen right after a stall, and no extension undoes it [P6]': async (scope) => {
      const [here, there] = [scope.semaphore({ ttl: 100 }), scope.elsewhere()];
      const handle = await here.acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      scope.time.stall(110);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      const error = thrownBy(() => handle.assertHeld());
      expect(error).to.be.instanceOf(HandleLostError).and.include({ reason: 'expired' });
      expect(losses).to.equal(0);
      await scope.within(1000, errorOf(handle.extend(), HandleLostError));
      await scope.time.pass(20);
      expect(losses).to.equal(1);
      expect(handle.held).to.equal(false);
      const next = await scope.within(2000, there.acquire(1000));
      expect(next.held).to.equal(true);
    },
  },
};
