import { expect } from 'chai';

import type { RedisTarget } from '../../src/index.js';
import { ManualClock } from '../../src/index.js';
import { clientKinds, newName } from '../../test/support/client-bench.js';
import { leastRights } from '../../test/support/least-rights.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import type { TestCluster } from '../../test/support/redis-cluster.js';
import { describeWithCluster } from '../../test/support/require-topology.js';
import { clusterClient, throughBothClients, TopologyBench } from './topology-bench.js';
import { eventually } from '../../test/support/eventually.js';

/** On a clock that stands still nobody asks again: a waiter can only be served by a push. */
const still = { limit: 1, clock: new ManualClock() };

describeWithCluster('a cluster', (cluster) => {
  const connect = clusterClient(cluster);

  /** A name for each master, whose semaphore that master has. */
  async function namesByMaster(): Promise<string[]> {
    const masters = await cluster().masters();
    const names = new Map<unknown, string>();
    while (names.size < masters.length) {
      const name = newName();
      names.set(await cluster().masterOf(await slotOf(name)), name);
    }
    return [...names.values()];
  }

  function slotOf(name: string): Promise<number> {
    return cluster().slotOf(`redsem:{${name}}:tickets`);
  }

  for (const kind of clientKinds) {
    it(`holds 1 000 semaphores of one client, spread over its nodes (${kind})`, async () => {
      const bench = new TopologyBench(kind, connect);
      try {
        const target = await bench.client();
        const prefix = newName();
        const names = Array.from({ length: 1000 }, (_, i) => `${prefix}-${i}`);
        const semaphores = names.map((name) => bench.semaphore(target, name, { limit: 1 }));
        const handles = await Promise.all(semaphores.map((semaphore) => semaphore.acquire(10_000)));
        expect(await Promise.all(semaphores.map((s) => s.tryAcquire()))).to.deep.equal(
          names.map(() => null),
        );
        const shares = await Promise.all((await cluster().masters()).map(ticketKeys(prefix)));
        expect(shares).to.have.length(3);
        for (const share of shares) expect(share).to.be.within(250, 420);
        expect(shares.reduce((sum, share) => sum + share, 0)).to.equal(1000);
        const released = await Promise.all(handles.map((handle) => handle.release()));
        expect(released).to.deep.equal(names.map(() => true));
        expect(await cluster().command('KEYS', `redsem:{${prefix}-*}:tickets`)).to.deep.equal([]);
      } finally {
        await bench.close();
      }
    });
  }

  it('pushes a grant to the waiter whatever node has the semaphore', () =>
    throughBothClients(connect, async (bench) => {
      const [holding, waiting] = [await bench.client(), await bench.client()];
      for (const name of await namesByMaster()) {
        await expectPush(bench, holding, waiting, name);
      }
    }));

  it('is subscribed to once by each client that waits', () =>
    throughBothClients(connect, async (bench) => {
      const holding = await bench.client();
      for (const name of await namesByMaster()) {
        const waiting = await bench.client();
        await expectPush(bench, holding, waiting, name, async (inbox) => {
          expect(await subscribers(cluster(), inbox)).to.have.length(1);
        });
      }
    }));

  it('pushes again after the subscriber was cut off', () =>
    throughBothClients(connect, async (bench) => {
      const name = newName();
      const holding = await bench.client();
      await expectPush(bench, holding, await bench.client(), name, async (inbox) => {
        const before = await subscribers(cluster(), inbox);
        for (const node of cluster().nodes) await node.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await eventually(async () => {
          const now = await subscribers(cluster(), inbox);
          expect(now).to.have.length(1);
          expect(now).not.to.deep.equal(before);
        });
      });
    }));

  it('is used with the least rights and those that its client needs', async () => {
    const login = { username: 'limited', password: 'secret' };
    const rights = ['resetchannels', '-@all', ...leastRights, '+cluster|slots', '+cluster|info'];
    for (const node of cluster().nodes) {
      await node.command('ACL', 'SETUSER', login.username, 'on', `>${login.password}`, ...rights);
    }
    await throughBothClients(clusterClient(cluster, login), async (bench) => {
      const [holding, waiting] = [await bench.client(), await bench.client()];
      await expectPush(bench, holding, waiting, newName());
    });
  });

  /** A release by one client serves a waiter of another, which asks nothing meanwhile. */
  async function expectPush(
    bench: TopologyBench,
    holding: RedisTarget,
    waiting: RedisTarget,
    name: string,
    meanwhile: (inbox: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const stored = new StoredSemaphore(cluster(), name);
    const handle = await bench.semaphore(holding, name, { limit: 1 }).acquire(5000);
    const granted = bench.semaphore(waiting, name, still).acquire();
    await stored.expectListening();
    const [id = ''] = await stored.queue();
    await meanwhile(`redsem:inbox:${id.split('.')[0]}`);
    expect(await handle.release()).to.equal(true);
    const next = await granted;
    expect(next.fencingToken).to.be.above(handle.fencingToken);
    expect(await next.release()).to.equal(true);
    await stored.expectEmpty();
  }
});

function ticketKeys(prefix: string) {
  return async (node: { command(...args: string[]): Promise<unknown> }): Promise<number> => {
    return ((await node.command('KEYS', `redsem:{${prefix}-*}:tickets`)) as string[]).length;
  };
}

/** Who is subscribed to an inbox, over all nodes: by node and the number that it gave the connection. */
async function subscribers(cluster: TestCluster, inbox: string): Promise<string[]> {
  const found: string[] = [];
  for (const node of cluster.nodes) {
    const [, count] = (await node.command('PUBSUB', 'NUMSUB', inbox)) as [string, number];
    if (count === 0) continue;
    const list = String(await node.command('CLIENT', 'LIST', 'TYPE', 'pubsub'));
    const ids = [...list.matchAll(/\bid=(\d+)/g)].map(([, id]) => id);
    for (let i = 0; i < count; i += 1) found.push(`${node.port} ${ids.join()}`);
  }
  return found;
}
