import { expect } from 'chai';

import { QueueFullError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup } from '../case-group.js';
import { servedInTurn } from '../scope.js';

export const orderCases: CaseGroup = {
  title: 'the order of the queue',
  needs: ['queue'],
  cases: {
    'gives groups turns by their weights, over processes': async (scope) => {
      const pair = scope.pair();
      const requests = ['a', 'a', 'a', 'a', 'b', 'b'].map((group, i) => {
        const options = { group, weight: group === 'a' ? 2 : 1 };
        return [group, i % 2 === 0 ? pair[0] : pair[1], options] as const;
      });
      expect(await servedInTurn(scope, requests)).to.equal('aabaab');
    },

    'puts priority before groups and arrival, and shows it': async (scope) => {
      const requests = Object.entries({
        a: {},
        b: { priority: 2, group: 'x' },
        c: { priority: 9 },
        d: { priority: 2, group: 'x' },
        e: { priority: 2, group: 'y z, 100%' },
        f: { group: 'x' },
      }).map(([label, options], i) => {
        const by = i % 2 === 0 ? scope.semaphore({ label }) : scope.elsewhere({ label });
        return [label, by, options] as const;
      });
      const served = await servedInTurn(scope, requests, async () => {
        const { waiters } = await scope.semaphore().inspect();
        expect(waiters.map(({ label }) => label).join('')).to.equal('cbedaf');
        expect(waiters.map(({ position }) => position)).to.deep.equal([0, 1, 2, 3, 4, 5]);
        const shown = waiters.map(({ priority, group }) => `${priority} ${group}`);
        expect(shown.slice(0, 3)).to.deep.equal(['9 ', '2 x', '2 y z, 100%']);
      });
      expect(served).to.equal('cbedaf');
    },

    'refuses a request above maxWaiting at once': async (scope) => {
      const [here, there] = scope.pair({ maxWaiting: 1 });
      const holder = await here.acquire();
      const waiting = there.acquire();
      await scope.untilWaiting(1);
      for (const semaphore of [here, there]) {
        const error = await errorOf(semaphore.acquire(), QueueFullError);
        const fields = { code: 'QUEUE_FULL', position: 1, limit: 1, semaphore: scope.name };
        expect(error).to.include(fields);
        expect(await semaphore.tryAcquire()).to.equal(null);
      }
      await holder.release();
      await (await waiting).release();
      const never = scope.semaphore({ maxWaiting: 0 });
      const held = await never.acquire();
      expect(await errorOf(never.acquire(), QueueFullError)).to.include({ position: 0, limit: 0 });
      await held.release();
    },
  },
};
