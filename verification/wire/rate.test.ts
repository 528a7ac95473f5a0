import { expect } from 'chai';

import type { RateOptions } from '../../src/index.js';
import type { ClientKind } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker } from '../../test/support/worker-process.js';

/** What each of four processes does. */
export interface RateJob {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  readonly limit: number;
  readonly rate: Required<RateOptions>;
  readonly tasks: number;
  readonly rounds: number;
  readonly hold: number;
}

/** One permit that was held. Its token is the time of its grant, by the server's clock. */
export interface RatedHold {
  readonly token: number;
  readonly slot: number;
}

const KINDS: readonly ClientKind[] = ['redis', 'ioredis', 'redis', 'ioredis'];
const SECOND = 1_000_000;

describeWithServer('a rate in four processes', (server) => {
  for (const [what, hold, burst] of [
    ['that alone holds back', 1, 1],
    ['beside a limit that holds back, too', 45, 1],
    ['with a burst', 5, 10],
  ] as const) {
    it(`${what}: no window of the server's time has one permit more`, async () => {
      const rate = { permits: 50, per: 1000, burst };
      const job = { url: server().url, name: what, limit: 2, rate, tasks: 5, rounds: 5, hold };
      const workers = KINDS.map((kind) =>
        startWorker(new URL('rate-worker.ts', import.meta.url), { ...job, kind }),
      );
      const reports = await Promise.all(workers.map((worker) => worker.next('holds')));
      const holds = reports.flatMap(({ data }) => data as RatedHold[]);
      expect(holds).to.have.lengthOf(KINDS.length * job.tasks * job.rounds);
      expect(Math.max(...holds.map(({ slot }) => slot)), 'the limit').to.be.below(job.limit);
      const grants = holds.map(({ token }) => token).toSorted((one, other) => one - other);
      expect(mostIn(grants, SECOND)).to.be.at.most(rate.permits + burst - 1);
      // Also between any two that are a burst apart.
      const gaps = grants.slice(burst).map((grant, i) => grant - (grants[i] ?? 0));
      expect(Math.min(...gaps)).to.be.at.least(SECOND / rate.permits);
    });
  }
});

/** The largest number of moments in any window of that length, its end left out. */
function mostIn(moments: readonly number[], window: number): number {
  const counts = moments.map((from) => {
    return moments.filter((moment) => moment >= from && moment < from + window).length;
  });
  return Math.max(...counts);
}
