import { expect } from 'chai';

import type { RedisTarget } from '../../src/index.js';
import { HandleLostError } from '../../src/index.js';
import { ClientBench, newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithSentinels } from '../../test/support/require-topology.js';
import { Crew, WORKERS } from '../faults/crew.js';
import { meeting } from './meeting.js';
import { expectBounded, type LossWatch } from './outage.js';
import { untilReplicated } from './replicated.js';
import { sentinelClient, throughBothClients, type TopologyBench } from './topology-bench.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

/** Longer, and much shorter, than a failover takes. */
const LONG = 25_000;
const SHORT = 600;

describeWithSentinels('sentinels whose master fails', (sentinels) => {
  const connect = sentinelClient(sentinels);
  let master: TestServer;
  let replicas: TestServer[];
  let failedAt: number;

  // The tests come in this order: the first master alone can be cut off.
  beforeEach('see who is master', async () => {
    master = await sentinels().master();
    replicas = sentinels().servers.filter((server) => server !== master);
  });

  afterEach('bring it back', () => sentinels().repair());

  it('cut off: a holder on its side is told, a waiter on the other goes on', async () => {
    const [ttl, maxLag] = [2500, 1000];
    for (const server of sentinels().servers) await boundLag(server, '1');
    const isolate = meeting(2, async () => {
      failedAt = performance.now();
      expect(sentinels().isolateFirst()).to.equal(master);
      await sentinels().untilFailover(master);
    });
    await throughBothClients(connect, async (bench) => {
      const direct = new ClientBench(bench.kind);
      try {
        const name = newName();
        const options = { limit: 1, ttl, extendEvery: 200 };
        const { target } = await direct.connect(master.port);
        const handle = await direct.semaphore(target, name, options).acquire(5000);
        const watch = bench.watch(handle);
        const there = bench.semaphore(await bench.client(), name, options);
        const waiting = there.acquire(LONG);
        await new StoredSemaphore(sentinels(), name).expectListening();
        await untilReplicated(master, replicas);
        await isolate();
        const next = await waiting;
        expect(next.fencingToken).to.be.above(handle.fencingToken);
        // Redis looks at the lag of its replicas once a second.
        await watch.expectLostWithin(maxLag + 1000 + ttl, failedAt);
        expect(next.held).to.equal(true);
        expect(await next.release()).to.equal(true);
      } finally {
        await direct.close();
      }
    });
    await sentinels().repair();
    for (const server of sentinels().servers) await boundLag(server, '0');
  });

  it('killed: holders keep their tickets, waiters go on, no call hangs', () =>
    expectOutlived(() => master.kill()));

  it('hung: holders keep their tickets, waiters go on, no call hangs', () =>
    expectOutlived(() => master.pause()));

  it('killed before it replicated a grant: two hold it until the first one extends', async () => {
    const name = newName();
    const lose = meeting(2, async () => {
      await master.kill();
      for (const replica of replicas) replica.resume();
      await sentinels().untilFailover(master);
    });
    const stopReplication = meeting(2, async () => {
      for (const replica of replicas) replica.pause();
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
    });
    await throughBothClients(connect, async (bench) => {
      const options = { limit: 1, ttl: LONG, extendEvery: 0 };
      const own = `${name}-${bench.kind}`;
      const here = bench.semaphore(await bench.client(), own, options);
      const there = bench.semaphore(await bench.client(), own, options);
      await stopReplication();
      const handle = await here.acquire(5000);
      await lose();
      const next = await eventually(() => there.acquire(1000));
      // What asynchronous replication cannot prevent: a second holder, here until the first one asks.
      expect([handle.held, next.held]).to.deep.equal([true, true]);
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      const error = await reasonOf(handle.extend());
      expect(error).to.be.instanceOf(HandleLostError).with.property('reason', 'missing');
      expect([handle.held, next.held]).to.deep.equal([false, true]);
      expect(await next.release()).to.equal(true);
    });
  });

  it('killed when its replicas lag: what was served since gets no permit', async () => {
    const stopReplication = meeting(2, async () => {
      await untilReplicated(master, replicas);
      for (const replica of replicas) replica.pause();
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
    });
    const failOver = meeting(2, async () => {
      await master.kill();
      for (const replica of replicas) replica.resume();
      await sentinels().untilFailover(master);
    });
    await throughBothClients(connect, async (bench) => {
      const semaphore = bench.semaphore(await bench.client(), newName(), { limit: 1 });
      const crew = await Crew.start(semaphore);
      await crew.claimed();
      await stopReplication();
      await crew.serve(2 * WORKERS);
      const settled = crew.settled;
      await failOver();
      await crew.serve(WORKERS + 2);
      await crew.expectGone(settled);
      await crew.stop();
    });
  });

  /** A permit that is held for longer than a failover takes outlives it; one that is not is lost in time. */
  async function expectOutlived(fault: () => unknown): Promise<void> {
    const fail = meeting(2, async () => {
      failedAt = performance.now();
      await fault();
    });
    const failover = meeting(2, () => sentinels().untilFailover(master));
    await throughBothClients(connect, async (bench) => {
      const name = newName();
      const options = { limit: 1, ttl: LONG, extendEvery: 200 };
      const here = await bench.client();
      const semaphore = bench.semaphore(here, name, options);
      const handle = await semaphore.acquire(5000);
      const watch = bench.watch(handle);
      const waiting = bench.semaphore(await bench.client(), name, options).acquire(LONG);
      const stored = new StoredSemaphore(sentinels(), name);
      await stored.expectListening();
      const brief = await briefly(bench, here);
      await untilReplicated(master, replicas);
      await fail();
      await expectBounded(semaphore, 200);
      await brief.expectLostWithin(SHORT, failedAt);
      await failover();

      await eventually(() => handle.extend());
      watch.expectKept();
      await stored.expectHeldBy([handle]);
      expect(await handle.release()).to.equal(true);
      const next = await waiting;
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      expect(await next.release()).to.equal(true);
      await stored.expectEmpty();
    });
  }

  /** A permit whose lease is over before any failover can be. */
  async function briefly(bench: TopologyBench, target: RedisTarget): Promise<LossWatch> {
    const semaphore = bench.semaphore(target, newName(), { limit: 1, ttl: SHORT });
    return bench.watch(await semaphore.acquire(5000));
  }
});

/** Whether a master refuses to write (NOREPLICAS) once no replica has been heard for a second. */
async function boundLag(server: TestServer, replicas: string): Promise<void> {
  await server.command('CONFIG', 'SET', 'min-replicas-to-write', replicas);
  await server.command('CONFIG', 'SET', 'min-replicas-max-lag', '1');
}
