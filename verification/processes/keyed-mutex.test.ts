import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';
import type { KeyedRounds } from './keyed-rounds.js';
import { runRounds, startKeyedWorkers } from './keyed-rounds.js';
import { leftKeys } from './holder-count.js';

const timeout = 20_000;
const rounds = 100;

describeWithServer('a keyed mutex between processes', (server) => {
  let workers: WorkerProcess[] = [];

  afterEach(() => workers.forEach((worker) => worker.kill()));

  async function start(name: string, stripes?: number): Promise<void> {
    const { url } = server();
    const shared = { url, name, ...(stripes === undefined ? {} : { stripes }) };
    workers = await startKeyedWorkers([
      { kind: 'redis', ...shared },
      { kind: 'ioredis', ...shared },
    ]);
  }

  /** Runs them at once, each in its process, and expects nobody to be inside a key beside another. */
  async function expectExclusion(jobs: readonly KeyedRounds[]): Promise<void> {
    const results = await Promise.all(
      jobs.map((job, i) => runRounds(workerAt(i % workers.length), job)),
    );
    for (const [i, result] of results.entries()) {
      expect(result).to.have.lengthOf(jobs[i]?.count ?? 0);
      expect(Math.max(...result.map(({ inside }) => inside))).to.equal(1);
      expect(Math.max(...result.map(({ waited }) => waited))).to.be.below(timeout);
    }
  }

  function workerAt(index: number): WorkerProcess {
    const worker = workers[index];
    if (worker === undefined) throw new Error(`there is no worker ${index}`);
    return worker;
  }

  it(`never deadlocks over [a, b] and [b, a], ${rounds} rounds`, async () => {
    await start('crossed');
    await expectExclusion([
      { keys: ['a', 'b'], count: rounds, timeout },
      { keys: ['b', 'a'], count: rounds, timeout },
    ]);
    for (const key of ['a', 'b']) {
      expect(await leftKeys(server(), `keyed:crossed:${key}`)).to.deep.equal(['meta']);
    }
  });

  it(`never deadlocks over many keys in opposite orders, ${rounds} rounds`, async () => {
    await start('many');
    const keys = Array.from({ length: 12 }, (_, i) => `key ${i}`);
    await expectExclusion([
      { keys, count: rounds, timeout },
      { keys: keys.toReversed(), count: rounds, timeout },
    ]);
  });

  it('has the same stripe for a key in every process', async () => {
    await start('hashed', 5);
    const keys = Array.from({ length: 8 }, (_, i) => `key ${i}`);
    await expectExclusion([
      { keys, count: 50, timeout },
      { keys: keys.toReversed(), count: 50, timeout },
    ]);
    const used = (await server().command('KEYS', 'redsem:{striped:hashed:*')) as string[];
    expect(used.length).to.be.within(1, 5);
  });

  it(`lets exactly one of those through that try the same keys at the same moment, ${rounds} rounds`, async () => {
    await start('tried');
    const orders = [
      ['a', 'b', 'c', 'd'],
      ['d', 'c', 'b', 'a'],
    ];
    for (let round = 0; round < rounds; round += 1) {
      workers.forEach((worker, i) => worker.send({ type: 'try', data: orders[i] }));
      const tried = await Promise.all(
        workers.map(async (worker) => (await worker.next('tried')).data),
      );
      expect(tried.filter((acquired) => acquired === true)).to.have.lengthOf(1);
      for (const worker of workers) worker.send({ type: 'release' });
      await Promise.all(workers.map((worker) => worker.next('released')));
    }
  });
});
