import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ContenderPool, startContenders } from './contender-pool.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { leftKeys } from './holder-count.js';
import { whileRepeating } from './repeat.js';
import { liveTickets } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';

type Fault = (proxy: FaultProxy, server: TestServer) => Promise<unknown>;

/** Each leaves all as it was. */
const faults: Record<string, Fault> = {
  'connections are cut': async (proxy) => proxy.cut(),
  'replies are lost and connections cut': async (proxy) => {
    proxy.swallowReplies(true);
    await sleep(20);
    proxy.cut();
    proxy.swallowReplies(false);
  },
  'the network hangs': async (proxy) => {
    proxy.hang(true);
    await sleep(100);
    proxy.hang(false);
  },
  'the server hangs': async (_proxy, server) => {
    server.pause();
    await sleep(100);
    server.resume();
  },
  'scripts are forgotten': (_proxy, server) => server.command('SCRIPT', 'FLUSH'),
};

describeWithServer('contention on a bad network', (server) => {
  let proxy: FaultProxy;
  let pool: ContenderPool;

  before(async () => {
    proxy = await startProxy(server().port);
    const url = `redis://127.0.0.1:${proxy.port}`;
    pool = await startContenders([
      { kind: 'redis', url },
      { kind: 'ioredis', url },
    ]);
  });

  after(async () => {
    pool.stop();
    await proxy.stop();
  });

  for (const [title, fault] of Object.entries(faults)) {
    it(`serves all and keeps the limit while ${title}`, async () => {
      const name = title;
      const trouble = async (): Promise<number> => {
        await fault(proxy, server());
        return 1;
      };
      const job = { name, limit: 3, tasks: 10, rounds: 4, hold: 15, ttl: 2000, count: false };
      const { value, results: levels } = await whileRepeating(
        5,
        () => liveTickets(server(), name),
        () => whileRepeating(100, trouble, () => pool.run(job)),
      );
      const intervals = value.value.flat();
      expect(value.results, 'times of trouble').to.have.lengthOf.at.least(2);
      expect(Math.max(...levels)).to.be.at.most(3);
      expect(intervals).to.have.lengthOf(80);
      expect(peakOf(intervals)).to.equal(3);
      expectFencing(intervals);
      // What could not be given back at once expires by itself.
      const left = async (): Promise<string> => (await leftKeys(server(), name)).join();
      await eventually(async () => (await left()) === 'meta', 'nothing is left');
    });
  }
});
