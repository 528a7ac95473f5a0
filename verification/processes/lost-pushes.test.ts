import { expect } from 'chai';

import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ContenderPool, type Job, startContenders } from './contender-pool.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { leftKeys, readPeaks } from './holder-count.js';
import { whileRepeating } from './repeat.js';

describeWithServer('waiting without pushes', (server) => {
  let pool: ContenderPool | undefined;

  afterEach(() => pool?.stop());

  it('serves all while subscribers are cut off again and again', async () => {
    const { url } = server();
    const contenders = await startContenders([
      { kind: 'redis', url },
      { kind: 'ioredis', url },
    ]);
    pool = contenders;
    const job = { name: 'cut', limit: 3, tasks: 20, rounds: 12, hold: 5 };
    const { results } = await whileRepeating(
      15,
      async () => Number(await server().command('CLIENT', 'KILL', 'TYPE', 'pubsub')),
      () => expectAllServed(contenders, server(), job),
    );
    const cut = results.reduce((sum, count) => sum + count, 0);
    expect(cut, 'subscribers cut').to.be.at.least(5);
  });

  for (const [title, rights] of [
    ['may not subscribe to its channel', ['resetchannels', '+@all']],
    ['may not subscribe at all', ['allchannels', '+@all', '-@pubsub']],
  ] as const) {
    it(`serves all where the user ${title}`, async () => {
      const user = `mute${rights.length}`;
      await server().command('ACL', 'SETUSER', user, 'on', '>word', '~*', ...rights);
      const url = `redis://${user}:word@127.0.0.1:${server().port}`;
      pool = await startContenders([
        { kind: 'redis', url },
        { kind: 'ioredis', url },
      ]);
      const job = { name: user, limit: 3, tasks: 10, rounds: 2, hold: 5 };
      await expectAllServed(pool, server(), job);
    });
  }
});

async function expectAllServed(pool: ContenderPool, server: TestServer, job: Job): Promise<void> {
  const intervals = (await pool.run(job)).flat();
  expect(intervals).to.have.lengthOf(pool.size * job.tasks * (job.rounds ?? 1));
  expect(peakOf(intervals)).to.equal(job.limit);
  expect((await readPeaks(server, job.name)).tickets).to.equal(job.limit);
  expectFencing(intervals);
  expect(await leftKeys(server, job.name)).to.deep.equal(['meta']);
}
