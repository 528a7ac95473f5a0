import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { describeWithServer } from '../support/require-server.js';
import { type ContenderPool, startContenders } from './contender-pool.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { leftKeys, readPeaks } from './holder-count.js';
import { type OpenClient, openClient } from './open-client.js';
import { until } from './until.js';

describeWithServer('a thousand waiters', (server) => {
  let pool: ContenderPool | undefined;
  let client: OpenClient;

  before(async () => {
    const { url } = server();
    client = await openClient('redis', url);
    pool = await startContenders([
      { kind: 'redis', url },
      { kind: 'ioredis', url },
      { kind: 'redis', url },
      { kind: 'ioredis', url },
    ]);
  });

  after(async () => {
    pool?.stop();
    await client.close();
  });

  it('are all served, in the order in which they arrived', async () => {
    const name = 'thousand';
    const limit = 5;
    const sem = new Semaphore(client.target, name, { limit });
    const gate = await sem.acquire({ permits: limit });
    const results = pool?.run({ name, limit, tasks: 250, hold: 1 });
    await until('all wait', async () => (await sem.inspect()).waiting === 1000);
    const arrivals = (await sem.inspect()).waiters.map(({ id }) => id);
    await gate.release();
    const intervals = (await results)?.flat() ?? [];
    expect(intervals.map(({ id }) => id)).to.have.members(arrivals);
    const served = intervals.toSorted((a, b) => a.token - b.token).map(({ id }) => id);
    // One that does not claim its grant in time, in a process that was held up, is served later.
    expect(inOrder(served, arrivals)).to.be.at.least(990);
    expect(peakOf(intervals)).to.equal(limit);
    expect((await readPeaks(server(), name)).tickets).to.equal(limit);
    expectFencing(intervals);
    await sem.close();
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
    const fields = (await server().command('HKEYS', `redsem:{${name}}:meta`)) as string[];
    expect(fields, 'nothing of each waiter').to.have.lengthOf.at.most(10);
  });
});

/** How many are served in their order of arrival: the length of the longest rising subsequence. */
function inOrder(served: readonly string[], arrivals: readonly string[]): number {
  const place = new Map(arrivals.map((id, index) => [id, index]));
  const ends: number[] = [];
  for (const id of served) {
    const at = place.get(id) ?? -1;
    const next = ends.findIndex((end) => end >= at);
    if (next === -1) ends.push(at);
    else ends[next] = at;
  }
  return ends.length;
}
