import { expect } from 'chai';

import { Semaphore } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import type { CaseGroup } from '../case-group.js';
import { reasonOf } from '../../support/rejection.js';

const retry = { min: 5, max: 20 };

export const sharingCases: CaseGroup = {
  title: 'many semaphore objects',
  cases: {
    'of one name share one limit, on one client and on two [M 3, O 1e]': async (scope) => {
      const limit = 4;
      const [a, b, c] = [
        scope.semaphore({ limit }),
        scope.semaphore({ limit, label: 'other options' }),
        scope.elsewhere({ limit }),
      ];
      const one = await a.acquire(0);
      await b.acquire({ permits: 2, timeout: 0 });
      await c.acquire(0);
      for (const semaphore of [a, b, c]) expect(await semaphore.tryAcquire()).to.equal(null);
      await one.release();
      expect(await c.tryAcquire()).to.include({ held: true, slot: one.slot });
      for (const semaphore of [a, b, c]) expect(await semaphore.tryAcquire()).to.equal(null);
    },

    'wait for each other in one queue [P3]': async (scope) => {
      const semaphores = [
        scope.semaphore({ retry }),
        scope.semaphore({ retry, label: 'other' }),
        scope.semaphore({ retry, ttl: 20_000 }),
        scope.elsewhere({ retry }),
      ];
      const holder = await scope.semaphore({ retry, ttl: 10_000 }).acquire();
      const served: number[] = [];
      const ends: Promise<void>[] = [];
      for (const [i, semaphore] of semaphores.entries()) {
        ends.push(semaphore.use(() => void served.push(i)));
        await scope.untilWaiting(i + 1);
      }
      await holder.release();
      await Promise.all(ends);
      expect(served).to.deep.equal([0, 1, 2, 3]);
    },

    'with different limits each keep to their own [anchors: limit disagreement]': async (scope) => {
      const [one, three] = [scope.semaphore({ limit: 1 }), scope.elsewhere({ limit: 3 })];
      await one.acquire(0);
      expect(await one.tryAcquire()).to.equal(null);
      await three.acquire({ permits: 2, timeout: 0 });
      expect(await three.tryAcquire()).to.equal(null);
      expect(await one.tryAcquire()).to.equal(null);
      expect(await one.inspect()).to.include({ held: 3 });
    },

    'with different ttls each keep to their own': async (scope) => {
      const long = await scope.semaphore({ limit: 2, ttl: 60_000 }).acquire();
      const short = await scope.semaphore({ limit: 2, ttl: 5000 }).acquire();
      await Promise.all([long.extend(), short.extend()]);
      const { holders } = await scope.elsewhere({ limit: 2 }).inspect();
      const lives = new Map(holders.map(({ id, expiresIn }) => [id, expiresIn]));
      expect(lives.get(long.id)).to.be.within(50_000, 60_000);
      expect(lives.get(short.id)).to.be.within(1000, 5000);
      expect(long.expiresIn).to.be.greaterThan(50_000);
      expect(short.expiresIn).to.be.at.most(5000);
    },

    'made for one short job each do as well as one object [RS#249]': async (scope) => {
      let inside = 0;
      let peak = 0;
      const jobs = Array.from({ length: 30 }, async () => {
        const semaphore = scope.semaphore({ limit: 3, retry });
        await semaphore.use(async () => {
          inside += 1;
          peak = Math.max(peak, inside);
          await eventually(() => peak === 3);
          inside -= 1;
        });
        await semaphore.close();
      });
      await Promise.all(jobs);
      expect(peak).to.equal(3);
    },

    'give handles that travel as plain data [RS 16, V, upstash/lock#16]': async (scope) => {
      const handle = await scope.semaphore({ limit: 3 }).acquire({ permits: 2 });
      const { name, id, slots, fencingToken } = handle;
      const data: unknown = JSON.parse(JSON.stringify({ job: 5, handle }));
      expect(data).to.deep.equal({
        job: 5,
        handle: { name, id, slots: [...slots], fencingToken },
      });
      expect(handle.toJSON()).to.deep.equal({ name, id, slots: [0, 1], fencingToken });
    },

    'are refused on one client without hurting another on it [SG]': async (scope) => {
      const semaphore = scope.semaphore();
      const bad = reasonOf(
        Promise.resolve().then(() => new Semaphore(scope.target, '', { limit: 1 })),
      );
      expect(await bad).to.be.instanceOf(RangeError);
      expect(await semaphore.acquire(0)).to.include({ held: true });
    },
  },
};
