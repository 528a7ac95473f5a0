import { expect } from 'chai';

import { ManualClock } from '../../src/index.js';
import { newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithCluster } from '../../test/support/require-topology.js';
import { meeting } from './meeting.js';
import { expectBounded, type LossWatch } from './outage.js';
import { untilReplicated } from './replicated.js';
import { clusterClient, throughBothClients, type TopologyBench } from './topology-bench.js';
import { eventually } from '../../test/support/eventually.js';

/** Longer, and much shorter, than a failover takes. */
const LONG = 25_000;
const SHORT = 600;

describeWithCluster('a cluster whose master fails', (cluster) => {
  const connect = clusterClient(cluster);
  let master: TestServer;
  let failedAt: number;

  beforeEach('choose a master', async () => {
    const [first] = await cluster().masters();
    if (first === undefined) throw new Error('a cluster without a master');
    master = first;
  });

  afterEach('bring it back', () => cluster().repair());

  it('killed: holders keep their tickets, waiters go on, no call hangs', async () => {
    const kill = meeting(2, async () => {
      failedAt = performance.now();
      await cluster().kill(master);
    });
    await throughBothClients(connect, async (bench) => {
      const { handle, watch, waiting, stored, semaphore } = await held(bench);
      const brief = await briefly(bench);
      await untilReplicated(master, await replicas());
      await kill();
      await expectBounded(semaphore, 200);
      await brief.expectLostWithin(SHORT, failedAt);

      await eventually(() => handle.extend());
      watch.expectKept();
      await stored.expectHeldBy([handle]);
      expect(await handle.release()).to.equal(true);
      const next = await waiting;
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      expect(await next.release()).to.equal(true);
      await stored.expectEmpty();
    });
  });

  it('hung: holders are told in time, no call hangs, waiters go on; with node-redis once it is back', async () => {
    const hang = meeting(2, () => {
      failedAt = performance.now();
      cluster().pause(master);
    });
    const wake = meeting(2, () => cluster().repair());
    await throughBothClients(connect, async (bench) => {
      const { handle, watch, waiting, stored, semaphore } = await held(bench);
      const brief = await briefly(bench);
      await untilReplicated(master, await replicas());
      await hang();
      await expectBounded(semaphore, 200);
      await brief.expectLostWithin(SHORT, failedAt);
      const goOn = async (): Promise<void> => {
        await eventually(() => handle.extend());
        watch.expectKept();
        expect(await handle.release()).to.equal(true);
        const next = await waiting;
        expect(next.fencingToken).to.be.above(handle.fencingToken);
        expect(await next.release()).to.equal(true);
        await stored.expectEmpty();
      };
      if (bench.kind === 'ioredis') await goOn();
      // node-redis asks no other node while the one that it knows keeps its connection open.
      else await expectBounded(semaphore, 1000);
      await wake();
      if (bench.kind === 'node-redis') await goOn();
    });
  });

  it('killed: pushes reach those who were subscribed to it', async () => {
    const kill = meeting(2, () => cluster().kill(master));
    await throughBothClients(connect, async (bench) => {
      const other = (await cluster().masters()).find((node) => node !== master);
      const name = await nameOn(other);
      const stored = new StoredSemaphore(cluster(), name);
      const holder = bench.semaphore(await bench.client(), name, { limit: 1, ttl: LONG });
      const handle = await holder.acquire(5000);
      const [granted] = await waitSubscribedTo(bench, stored, name);
      await kill();
      // Until another master is there the one that died is asked.
      await eventually(() => stored.expectListening());
      expect(await eventually(() => handle.release())).to.equal(true);
      expect((await granted).fencingToken).to.be.above(handle.fencingToken);
    });
  });

  /** One who asks nothing by himself, and whose subscriber is on the chosen master: each client takes a node by chance. */
  async function waitSubscribedTo(bench: TopologyBench, stored: StoredSemaphore, name: string) {
    const clock = new ManualClock();
    for (;;) {
      const semaphore = bench.semaphore(await bench.client(), name, { limit: 1, clock });
      const granted = semaphore.acquire();
      granted.catch(() => undefined);
      await stored.expectListening();
      const inbox = `redsem:inbox:${(await stored.queue())[0]?.split('.')[0]}`;
      const channels = (await master.command('PUBSUB', 'CHANNELS', inbox)) as string[];
      if (channels.length > 0) return [granted] as const;
      await semaphore.close();
      await eventually(async () => expect(await stored.queue()).to.deep.equal([]));
    }
  }

  /** A name whose semaphore the chosen master has. */
  async function nameThere(): Promise<string> {
    return nameOn(master);
  }

  async function nameOn(node: TestServer | undefined): Promise<string> {
    for (;;) {
      const name = newName();
      const slot = await cluster().slotOf(`redsem:{${name}}:tickets`);
      if ((await cluster().masterOf(slot)) === node) return name;
    }
  }

  async function replicas(): Promise<TestServer[]> {
    return cluster().replicasOf(await cluster().slotOf(`redsem:{${await nameThere()}}:tickets`));
  }

  /** A permit that is held for longer than a failover takes, and one who waits for it. */
  async function held(bench: TopologyBench) {
    const name = await nameThere();
    const options = { limit: 1, ttl: LONG, extendEvery: 200 };
    const [here, there] = [await bench.client(), await bench.client()];
    const semaphore = bench.semaphore(here, name, options);
    const handle = await semaphore.acquire(5000);
    const stored = new StoredSemaphore(cluster(), name);
    const waiting = bench.semaphore(there, name, options).acquire(LONG);
    await stored.expectListening();
    return { semaphore, handle, watch: bench.watch(handle), waiting, stored };
  }

  /** A permit whose lease is over before any failover can be. */
  async function briefly(bench: TopologyBench): Promise<LossWatch> {
    const semaphore = bench.semaphore(await bench.client(), await nameThere(), {
      limit: 1,
      ttl: SHORT,
    });
    return bench.watch(await semaphore.acquire(5000));
  }
});
