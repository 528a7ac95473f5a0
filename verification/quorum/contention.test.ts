import { expect } from 'chai';

import { expectFencing, peakOf } from '../processes/hold-intervals.js';
import { describeWithMasters } from '../../test/quorum/servers.js';
import { QuorumPool } from './quorum-pool.js';

const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;
const CONTENDERS = 3;
const ROUNDS = 200;

/** Tries that a node sees for each acquisition, polling included; measured: 1.1 to 2.2. */
const MOST_TRIES = 6;

describeWithMasters('12 contenders in 4 processes on independent masters', 5, (masters) => {
  for (const [nodes, limits] of [
    [3, [2, 4]],
    [5, [3, 10]],
  ] as const) {
    describe(`on ${nodes} nodes`, () => {
      let pool: QuorumPool | undefined;

      before(async () => {
        pool = await QuorumPool.start(KINDS, masters().urls.slice(0, nodes));
      });

      after(() => pool?.stop());

      for (const limit of limits) {
        it(`use each of ${limit} permits and never one more`, async () => {
          const name = `${nodes}-nodes-${limit}`;
          // Long enough for all permits to be out at once although two cores run everything.
          const hold = limit > 4 ? 8 : 2;
          const job = { name, limit, contenders: CONTENDERS, rounds: ROUNDS, hold };
          const { intervals, tries } = (await pool?.run(job)) ?? { intervals: [], tries: 0 };
          const count = KINDS.length * CONTENDERS * ROUNDS;
          expect(intervals).to.have.lengthOf(count);
          expect(peakOf(intervals)).to.equal(limit);
          expectFencing(intervals);
          for (let slot = 0; slot < limit; slot += 1) {
            const uses = intervals.filter((interval) => interval.slot === slot).length;
            expect(uses, `uses of slot ${slot}`).to.be.above(count / limit / 20);
          }
          expect(tries / count, 'tries for each acquisition').to.be.below(MOST_TRIES);
        });
      }

      it('take several permits at once, all or nothing', async () => {
        const job = { contenders: CONTENDERS, rounds: 10, hold: 2, permits: 2 };
        const name = `${nodes}-nodes-pairs`;
        const { intervals } = (await pool?.run({ ...job, name, limit: 5 })) ?? { intervals: [] };
        expect(intervals).to.have.lengthOf(KINDS.length * CONTENDERS * 10 * 2);
        expect(peakOf(intervals)).to.equal(4);
      });
    });
  }
});
