import { expect } from 'chai';

import { describeWithMasters } from '../../test/quorum/servers.js';
import { expectFencing, peakOf } from '../processes/hold-intervals.js';
import { stopProcesses, TestProcess } from '../processes/test-process.js';

const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;

describeWithMasters('12 contenders in 4 processes on independent masters', 5, (masters) => {
  afterEach(stopProcesses);

  for (const [nodes, limit, permits] of [
    [3, 2, 1],
    [3, 4, 1],
    [3, 5, 2],
    [5, 3, 1],
    [5, 10, 1],
    [5, 5, 2],
  ] as const) {
    it(`use each of ${limit} permits, ${permits} at once, and never one more, on ${nodes} nodes`, async () => {
      const url = masters().urls.slice(0, nodes);
      const processes = await Promise.all(KINDS.map((kind) => TestProcess.start({ kind, url })));
      const rounds = permits === 1 ? 200 : 10;
      // Long enough for all permits to be out at once although two cores run everything.
      const hold = limit > 5 ? 8 : 2;
      const job = { name: `${nodes}-${limit}`, limit, permits, tasks: 3, rounds, hold };
      const results = await Promise.all(processes.map((process) => process.ask('run', job)));
      const intervals = results.flat();
      expect(intervals).to.have.lengthOf(12 * rounds * permits);
      expect(peakOf(intervals)).to.equal(limit - (limit % permits));
      if (permits > 1) return;
      expectFencing(intervals);
      for (let slot = 0; slot < limit; slot += 1) {
        const uses = intervals.filter((interval) => interval.slot === slot).length;
        expect(uses, `uses of slot ${slot}`).to.be.above(2400 / limit / 20);
      }
    });
  }
});
