import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import { type ContenderPool, startContenders } from './contender-pool.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { leftKeys, readPeaks } from './holder-count.js';

describeWithServer('contention between processes', (server) => {
  let pool: ContenderPool | undefined;

  before(async () => {
    const { url } = server();
    pool = await startContenders([
      { kind: 'redis', url },
      { kind: 'ioredis', url },
      { kind: 'redis', url },
      { kind: 'ioredis', url },
    ]);
  });

  after(() => pool?.stop());

  it('lets exactly the limit in, of 100 contenders in 4 processes', async () => {
    const name = 'hundred';
    const job = { name, limit: 10, tasks: 25, rounds: 2, hold: 30 };
    const intervals = (await pool?.run(job))?.flat() ?? [];
    expect(intervals).to.have.lengthOf(200);
    expect(peakOf(intervals)).to.equal(10);
    expect(await readPeaks(server(), name)).to.deep.equal({ holders: 10, tickets: 10 });
    expectFencing(intervals);
    expect([...new Set(intervals.map(({ slot }) => slot))]).to.have.members(range(10));
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });

  it('reaches every level up to the limit and none above it', async () => {
    const name = 'levels';
    const perWorker = [4, 3, 3, 0];
    const job = { name, limit: 3, rounds: 25, hold: 2 };
    const results = await pool?.run((worker) => ({ ...job, tasks: perWorker[worker] ?? 0 }));
    const intervals = results?.flat() ?? [];
    expect(intervals).to.have.lengthOf(250);
    expect([...new Set(intervals.map(({ level }) => level))]).to.have.members([1, 2, 3]);
    expect(peakOf(intervals)).to.equal(3);
    expect(await readPeaks(server(), name)).to.deep.equal({ holders: 3, tickets: 3 });
    expectFencing(intervals);
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });
});

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
