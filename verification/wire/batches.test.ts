import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Handle, type RedisConnection, Semaphore } from '../../src/index.js';
import { leftKeys } from '../processes/holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { startMonitor } from '../../test/support/command-monitor.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('calls that travel together', (server) => {
  const clients: OpenClient[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });

  async function open(kind: ClientKind): Promise<OpenClient> {
    const client = await openClient(kind, server().url);
    clients.push(client);
    return client;
  }

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`1000 acquires of one turn are one call, and so are 1000 releases (${kind})`, async () => {
      const client = await open(kind);
      const sem = new Semaphore(client.target, `turn-${kind}`, { limit: 1000 });
      await (await sem.acquire()).release();
      const before = await scriptCalls(server());
      const handles = await acquireMany(sem, 1000);
      expect((await scriptCalls(server())) - before).to.equal(1);
      expect(new Set(handles.map(({ slot }) => slot)).size).to.equal(1000);
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect((await scriptCalls(server())) - before).to.equal(2);
      expect(released).to.not.include(false);
      await sem.close();
      expect(await leftKeys(server(), sem.name)).to.deep.equal(['meta']);
    });
  }

  it('5000 handles are extended with at most 10 calls a second', async () => {
    const kinds = ['redis', 'ioredis'] as const;
    const targets = await Promise.all(kinds.map(async (kind) => (await open(kind)).target));
    const options = { limit: 5000, ttl: 3000 };
    const sems = targets.map((target, nth) => new Semaphore(target, `held ${nth}`, options));
    const held = await Promise.all(sems.map((sem) => acquireMany(sem, 5000)));
    const monitor = await startMonitor(server());
    const started = performance.now();
    await sleep(3500);
    const commands = await monitor.commands();
    const seconds = (performance.now() - started) / 1000;
    monitor.stop();
    for (const { name } of sems) {
      const own = commands.filter(({ rest }) => rest.includes(`{${name}}`));
      expect(own.length / seconds).to.be.within(1, 10);
    }
    for (const handle of held.flat()) expect(handle.held).to.equal(true);
    for (const sem of sems) expect((await sem.inspect()).held).to.equal(5000);
    const released = await Promise.all(held.flat().map((handle) => handle.release()));
    expect(released.filter((done) => !done)).to.have.lengthOf(0);
    await Promise.all(sems.map((sem) => sem.close()));
    for (const { name } of sems) expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });

  it('100 waiters poll with one call each pause', async () => {
    const { polls, took } = await countPolls(100, false);
    // In pauses of 50 ms, with room for the way there and back.
    expect(polls).to.be.within(5, Math.ceil(took / 50) + 1);
  });

  it('100 waiters who hear of grants ask once in 1.5 seconds', async () => {
    const { polls, took } = await countPolls(100, true);
    expect(polls).to.be.within(0, Math.ceil(took / 1500));
  });

  /** Script calls that so many waiters cost in a second or so, once all are queued. */
  async function countPolls(
    count: number,
    pushes: boolean,
  ): Promise<{ readonly polls: number; readonly took: number }> {
    const client = await open('redis');
    const name = `polls ${pushes}`;
    const target = pushes ? client.target : withoutPushes(client);
    const retry = { min: 50, max: 50, factor: 1, jitter: false };
    const sem = new Semaphore(target, name, { limit: 1, retry });
    const handle = await sem.acquire();
    const waiting = Array.from({ length: count }, () => sem.use(() => undefined));
    await eventually(async () => (await sem.inspect()).waiting === count, 'all wait');
    const subscribed = async (): Promise<boolean> =>
      ((await server().command('PUBSUB', 'CHANNELS')) as string[]).length > 0;
    if (pushes) await eventually(subscribed, 'the subscription stands');
    // Once it stands they ask once more.
    await sleep(300);
    const began = performance.now();
    const before = await scriptCalls(server());
    await sleep(1000);
    const calls = async (): Promise<number> => (await scriptCalls(server())) - before;
    // Also where the machine stood still for most of that time.
    if (!pushes) await eventually(async () => (await calls()) >= 5, 'they poll');
    const polls = await calls();
    const took = performance.now() - began;
    await handle.release();
    await Promise.all(waiting);
    await sem.close();
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
    return { polls, took };
  }
});

function acquireMany(sem: Semaphore, count: number): Promise<Handle[]> {
  return Promise.all(Array.from({ length: count }, () => sem.acquire()));
}

async function scriptCalls(server: TestServer): Promise<number> {
  const { evalsha = 0, eval: whole = 0 } = await server.calls();
  return evalsha + whole;
}

/** A connection that cannot subscribe, and sends the whole script each time. */
function withoutPushes(client: OpenClient): RedisConnection {
  return {
    runBySha: () => Promise.reject(new Error('NOSCRIPT')),
    runByText: (text, keys, args) => client.run(text, keys, args),
  };
}
