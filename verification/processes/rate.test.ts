import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { stopProcesses, TestProcess } from './test-process.js';

const KINDS = ['redis', 'ioredis', 'redis', 'ioredis'] as const;

describeWithServer('a rate between processes', (server) => {
  afterEach(stopProcesses);

  for (const [what, hold, rate] of [
    ['which alone holds back', 1, { permits: 50, per: 1000 }],
    ['beside a limit that holds back, too', 45, { permits: 50, per: 1000 }],
    ['with a burst', 5, { permits: 50, per: 1000, burst: 10 }],
  ] as const) {
    it(`is never above it in any window by the server's clock, ${what}`, async () => {
      const url = server().url;
      const processes = await Promise.all(KINDS.map((kind) => TestProcess.start({ kind, url })));
      const job = { name: what, limit: 2, tasks: 5, rounds: 5, hold, rate };
      const all = await Promise.all(processes.map((process) => process.ask('run', job)));
      const intervals = all.flat();
      expect(intervals).to.have.lengthOf(KINDS.length * job.tasks * job.rounds);
      expect(peakOf(intervals)).to.be.at.most(job.limit);
      expectFencing(intervals);
      // A token is the time of its grant.
      const grants = intervals.map(({ token }) => token).toSorted((a, b) => a - b);
      const burst = 'burst' in rate ? rate.burst : 1;
      expect(mostIn(grants, rate.per * 1000)).to.be.at.most(rate.permits + burst - 1);
      const interval = (rate.per * 1000) / rate.permits;
      for (let i = burst; i < grants.length; i += 1) {
        expect((grants[i] ?? 0) - (grants[i - burst] ?? 0), 'the steady rate').to.be.at.least(
          interval,
        );
      }
    });
  }
});

/** The largest number of moments in any window of that length, the end not included. */
function mostIn(moments: readonly number[], window: number): number {
  let [first, most] = [0, 0];
  for (const [i, moment] of moments.entries()) {
    while (moment - (moments[first] ?? moment) >= window) first += 1;
    most = Math.max(most, i - first + 1);
  }
  return most;
}
