import { expect } from 'chai';

import { describeWithMasters } from '../../test/quorum/servers.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { expectFencing, type Interval, peakOf } from '../processes/hold-intervals.js';
import type { Job } from './quorum-worker.js';

const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;

describeWithMasters('12 contenders in 4 processes on independent masters', 5, (masters) => {
  for (const [nodes, limits] of [
    [3, [2, 4]],
    [5, [3, 10]],
  ] as const) {
    describe(`on ${nodes} nodes`, () => {
      let workers: readonly WorkerProcess[] = [];

      before(async () => {
        const script = new URL('quorum-worker.ts', import.meta.url);
        const urls = masters().urls.slice(0, nodes);
        workers = KINDS.map((kind) => startWorker(script, { kind, urls }));
        await Promise.all(workers.map((worker) => worker.next('ready')));
      });

      after(() => workers.forEach((worker) => worker.kill()));

      /** The same job in every process at once. */
      async function run(job: Job): Promise<Interval[]> {
        for (const worker of workers) worker.send({ type: 'run', data: job });
        const results = await Promise.all(workers.map((worker) => worker.next('result')));
        return results.flatMap(({ data }) => data as Interval[]);
      }

      for (const limit of limits) {
        it(`use each of ${limit} permits and never one more`, async () => {
          // Long enough for all permits to be out at once although two cores run everything.
          const hold = limit > 4 ? 8 : 2;
          const job = { name: `limit-${nodes}-${limit}`, limit, contenders: 3, rounds: 200, hold };
          const intervals = await run({ ...job, permits: 1 });
          expect(intervals).to.have.lengthOf(2400);
          expect(peakOf(intervals)).to.equal(limit);
          expectFencing(intervals);
          for (let slot = 0; slot < limit; slot += 1) {
            const uses = intervals.filter((interval) => interval.slot === slot).length;
            expect(uses, `uses of slot ${slot}`).to.be.above(2400 / limit / 20);
          }
        });
      }

      it('take several permits at once, all or nothing', async () => {
        const job = { name: `pairs-${nodes}`, limit: 5, contenders: 3, rounds: 10, hold: 2 };
        const intervals = await run({ ...job, permits: 2 });
        expect(intervals).to.have.lengthOf(240);
        expect(peakOf(intervals)).to.equal(4);
      });
    });
  }
});
