import { expect } from 'chai';

import { AcquireTimeoutError } from '../../src/index.js';
import { afterTest } from '../../test/support/after-test.js';
import { bothKinds, newName } from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import { openClient } from '../../test/support/open-client.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { errorOf } from '../../test/support/rejection.js';
import { describeWithCluster, describeWithSentinels } from '../support/require-topology.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';
import { LATE_MS, timed } from '../support/timed.js';
import { clusterClient, sentinelClient } from '../support/topology-clients.js';
import {
  type Connect,
  expectLostWithin,
  fixtureOf,
  itThroughBothClients,
  lossesOf,
  untilReplicated,
} from './topology-fixture.js';

/** Longer, and much shorter, than a failover takes. */
const LONG = 25_000;
const SHORT = 600;

interface Topology {
  readonly connect: Connect;
  command(...args: string[]): Promise<unknown>;
  replicated(): Promise<void>;
  /** A name whose semaphore the master has. */
  name(): Promise<string>;
  fail(how: 'killed' | 'hung'): unknown;
  repair(): Promise<void>;
  /** Clients of this row ask no other node while a connection to the known node is open. */
  readonly stuck?: string;
}

function itOutlives(how: 'killed' | 'hung', topology: Topology): void {
  const title = `${how}: holders keep their tickets, waiters keep waiting, no call hangs`;
  itThroughBothClients(title, topology.connect, async (fixture) => {
    const name = await topology.name();
    const options = { limit: 1, ttl: LONG, extendEvery: 200 };
    const semaphore = await fixture.semaphore(name, options);
    const handle = await semaphore.acquire(5000);
    const losses = lossesOf(handle);
    const waiting = (await fixture.semaphore(name, options)).acquire(LONG);
    const stored = new StoredSemaphore(topology, name);
    await stored.untilListening();
    const brief = await fixture.semaphore(await topology.name(), { limit: 1, ttl: SHORT });
    const lost = lossesOf(await brief.acquire(5000));
    await topology.replicated();
    const failedAt = performance.now();
    await topology.fail(how);
    // While no server answers, a call still ends with its timeout (P5).
    const call = () => errorOf(semaphore.acquire(200), AcquireTimeoutError);
    const { took } = await timed(call);
    expect(took).to.be.at.most(200 + LATE_MS);
    await expectLostWithin(lost, SHORT, failedAt);
    if (how === 'hung' && fixture.kind === topology.stuck) await topology.repair();
    await eventually(() => handle.extend());
    expect(losses).to.deep.equal([]);
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
    const next = await waiting;
    expect(next.fencingToken).to.be.above(handle.fencingToken);
    expect(await next.release()).to.equal(true);
    await stored.expectEmpty();
  });
}

describeWithCluster('a cluster whose master fails', (cluster) => {
  let master: TestServer;

  beforeEach('choose a master', async () => {
    [master] = (await cluster().masters()) as [TestServer];
  });

  afterEach('bring it back', () => cluster().repair());

  const name = async (): Promise<string> => {
    for (;;) {
      const made = newName();
      if ((await cluster().masterOf(made)) === master) return made;
    }
  };
  const topology: Topology = {
    connect: (kind) => clusterClient({ kind, ports: cluster().ports }),
    command: (...args) => cluster().command(...args),
    replicated: async () => untilReplicated(master, await cluster().replicasOf(await name())),
    name,
    fail: (how) => (how === 'killed' ? cluster().kill(master) : cluster().pause(master)),
    repair: () => cluster().repair(),
    stuck: 'redis',
  };

  itOutlives('killed', topology);
  itOutlives('hung', topology);
});

describeWithSentinels('sentinels whose master fails', (sentinels) => {
  const connect: Connect = (kind) => sentinelClient({ kind, ports: sentinels().ports });
  let master: TestServer;
  let replicas: TestServer[];

  beforeEach('ask for the master', async () => {
    master = await sentinels().master();
    replicas = await sentinels().replicas();
  });

  afterEach('bring it back', () => sentinels().repair());

  it('cut off: a holder on its side is notified, a waiter on the other keeps waiting', async () => {
    const [ttl, maxLag] = [2500, 1000];
    // A master refuses to write (NOREPLICAS) once no replica has been heard for a second.
    const boundLag = async (least: string): Promise<void> => {
      for (const server of sentinels().servers) {
        await server.command('CONFIG', 'SET', 'min-replicas-to-write', least);
        await server.command('CONFIG', 'SET', 'min-replicas-max-lag', '1');
      }
    };
    // Also after a failure, behind the repair.
    afterTest(() => boundLag('0'));
    await boundLag('1');
    // The first master alone can be cut off: both clients meet that.
    let cut: (at: number) => void = () => undefined;
    const isolated = new Promise<number>((resolve) => (cut = resolve));
    let ready = 0;
    const sides = bothKinds.map(async (kind) => {
      const direct = await openClient(kind, master.url);
      afterTest(() => direct.close());
      const { semaphore } = fixtureOf(kind, connect);
      const name = newName();
      const options = { limit: 1, ttl, extendEvery: 200 };
      const handle = await (await semaphore(name, options, direct.target)).acquire(5000);
      const losses = lossesOf(handle);
      const waiting = (await semaphore(name, options)).acquire(LONG);
      const stored = new StoredSemaphore(sentinels(), name);
      await stored.untilListening();
      await untilReplicated(master, replicas);
      ready += 1;
      const cutAt = await isolated;
      const next = await waiting;
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      // Redis looks at the lag of its replicas once a second.
      await expectLostWithin(losses, maxLag + 1000 + ttl, cutAt);
      expect(next.held).to.equal(true);
      // A client that still changes its master may send the release twice, or too late for what is
      // left of a late grant: the answer is false then, and the ticket is gone all the same.
      await next.release();
      await stored.expectEmpty();
    });
    await eventually(() => ready === bothKinds.length);
    cut(performance.now());
    expect(sentinels().servers[0]).to.equal(master);
    sentinels().isolateFirst();
    await sentinels().untilFailover(master);
    await Promise.all(sides);
  });

  const topology: Topology = {
    connect,
    command: (...args) => sentinels().command(...args),
    replicated: () => untilReplicated(master, replicas),
    name: () => Promise.resolve(newName()),
    fail: (how) => (how === 'killed' ? master.kill() : master.pause()),
    repair: () => sentinels().repair(),
  };

  itOutlives('killed', topology);
  itOutlives('hung', topology);
});
