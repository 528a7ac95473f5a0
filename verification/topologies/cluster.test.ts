import { expect } from 'chai';

import { ManualClock } from '../../src/index.js';
import { newName } from '../../test/support/client-fixture.js';
import { eventually } from '../../test/support/eventually.js';
import { leastRights } from '../support/least-rights.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithCluster } from '../support/require-topology.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';
import { clusterClient } from '../support/topology-clients.js';
import { type Connect, type Fixture, itThroughBothClients } from './topology-fixture.js';

describeWithCluster('a cluster', (cluster) => {
  const connect: Connect = (kind) => clusterClient({ kind, ports: cluster().ports });

  const login = { username: 'limited', password: 'secret' };
  const limited: Connect = (kind) => clusterClient({ kind, ports: cluster().ports, login });
  const rightsTitle = 'is used with the least rights and the rights that its client needs';
  itThroughBothClients(rightsTitle, limited, async (fixture) => {
    const rights = ['resetchannels', '-@all', ...leastRights, '+cluster|slots', '+cluster|info'];
    for (const node of cluster().nodes) {
      await node.command('ACL', 'SETUSER', login.username, 'on', `>${login.password}`, ...rights);
    }
    await expectPush(fixture, newName());
  });

  const killTitle = 'pushes to a waiter whose subscriber was on a node that is killed';
  itThroughBothClients(killTitle, connect, async (fixture) => {
    const [master, other] = (await cluster().masters()) as [TestServer, TestServer];
    let name = newName();
    while ((await cluster().masterOf(name)) !== other) name = newName();
    const pushed = async (): Promise<boolean> => {
      let there = false;
      await expectPush(fixture, name, async (inbox) => {
        there = ((await master.command('PUBSUB', 'CHANNELS', inbox)) as unknown[]).length > 0;
        if (there) await cluster().kill(master);
        // Until there is another master, clients ask the dead one.
        await eventually(() => new StoredSemaphore(cluster(), name).untilListening());
      });
      return there;
    };
    // Each client takes a node by chance.
    while (!(await pushed()));
    await cluster().repair();
  });

  const moveTitle =
    'gives no slot twice while it moves a semaphore that has no key for free slots yet';
  itThroughBothClients(moveTitle, connect, async (fixture) => {
    const semaphore = await fixture.semaphore(newName(), { limit: 3 });
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => semaphore.acquire(5000)));
    const end = await cluster().moveSlot(semaphore.name, () => false);
    // Its slot comes free below the others, for which the script needs another key.
    const released = first?.release();
    const next = semaphore.acquire(20_000);
    await eventually(async () => (await semaphore.tryAcquire().catch(() => 'no reply')) !== null);
    await end();
    expect(await released).to.equal(true);
    const slots = [await next, ...others].map(({ slot }) => slot);
    expect(slots).to.have.members([0, 1, 2]);
    expect((await semaphore.inspect()).held).to.equal(3);
  });

  const lastTitle = 'ends no release in the middle that takes the last of the free slots';
  itThroughBothClients(lastTitle, connect, async (fixture) => {
    const semaphore = await fixture.semaphore(newName(), { limit: 3 });
    const handles = [];
    for (let i = 0; i < 3; i += 1) handles.push(await semaphore.acquire(5000));
    const [first, second, third] = handles;
    await second?.release();
    const end = await cluster().moveSlot(semaphore.name, () => false);
    // With the highest slot the slot below it leaves the key of free slots, which is gone then.
    const released = await third?.release();
    await end();
    expect(released).to.equal(true);
    const others = await Promise.all([1, 2].map(() => semaphore.acquire(5000)));
    expect([first, ...others].map((handle) => handle?.slot)).to.have.members([0, 1, 2]);
    expect((await semaphore.inspect()).held).to.equal(3);
  });

  const flowTitle = 'ends no script in the middle while it moves the flow of a group';
  itThroughBothClients(flowTitle, connect, async (fixture) => {
    const semaphore = await fixture.semaphore(newName(), { limit: 9, groupLimit: 2 });
    const acquire = (group = '') => semaphore.acquire({ timeout: 30_000, ...(group && { group }) });
    const first = [await acquire('b'), await acquire('b')];
    const held = [await acquire('a'), await acquire(), await acquire('a'), await acquire()];
    // Free slots have a key now.
    await Promise.all(first.map((handle) => handle.release()));
    // Both groups are at their limits: each request waits.
    const waiting = [acquire('a'), acquire()];
    await eventually(async () => (await semaphore.inspect()).waiting === 2);
    const master = await cluster().masterOf(semaphore.name);
    const end = await cluster().moveSlot(semaphore.name, (key) => key.endsWith(':flow:0:a'));
    const before = await errorsOf(master);
    const released = Promise.all(held.slice(0, 2).map((handle) => handle.release()));
    // Among these the release has been refused, too.
    await eventually(async () => (await errorsOf(master)) > before + 10);
    await end();
    expect(await released).to.deep.equal([true, true]);
    const handles = [...held.slice(2), ...(await Promise.all(waiting))];
    expect(handles.map(({ slot }) => slot)).to.have.members([0, 1, 4, 5]);
    // A release that had ended in the middle would have been counted once for each try.
    expect(await semaphore.tryAcquire({ group: 'a' })).to.equal(null);
    expect((await semaphore.inspect()).held).to.equal(4);
  });

  const countTitle = 'counts the permits of a group right while it moves the counts';
  itThroughBothClients(countTitle, connect, async (fixture) => {
    // The counts move first, or last.
    for (const isFirst of [true, false]) {
      const semaphore = await fixture.semaphore(newName(), { limit: 9, groupLimit: 2 });
      const acquire = (group: string) => semaphore.acquire({ timeout: 5000, group });
      const [first, held] = [await acquire('b'), await acquire('a'), await acquire('a')];
      // Free slots have a key now.
      await first.release();
      const masters = await cluster().masters();
      const errors = async () => (await Promise.all(masters.map(errorsOf))).join();
      const end = await cluster().moveSlot(semaphore.name, (key) => {
        return key.endsWith(':groups') === isFirst;
      });
      const before = await errors();
      const released = held.release();
      await Promise.race([released, eventually(async () => (await errors()) !== before)]);
      await end();
      expect(await released).to.equal(true);
      const taken = [1, 2].map(() => semaphore.tryAcquire({ group: 'a' }));
      expect((await Promise.all(taken)).filter((handle) => handle !== null)).to.have.length(1);
    }
  });

  /**
   * A release by one client serves a waiter of another, which, on a stopped clock, asks nothing
   * meanwhile.
   */
  async function expectPush(
    fixture: Fixture,
    name: string,
    meanwhile: (inbox: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const stored = new StoredSemaphore(cluster(), name);
    const handle = await (await fixture.semaphore(name, { limit: 1 })).acquire(5000);
    const still = await fixture.semaphore(name, { limit: 1, clock: new ManualClock() });
    const granted = still.acquire();
    await meanwhile(await stored.untilListening());
    expect(await eventually(() => handle.release())).to.equal(true);
    const next = await granted;
    expect(next.fencingToken).to.be.above(handle.fencingToken);
    expect(await next.release()).to.equal(true);
    await stored.expectEmpty();
  }
});

/** How many calls a node has failed, but for those that it has named another node. */
async function errorsOf(node: TestServer): Promise<number> {
  const stats = String(await node.command('INFO', 'errorstats'));
  const counts = stats.matchAll(/errorstat_(?:ERR|TRYAGAIN):count=(\d+)/g);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
