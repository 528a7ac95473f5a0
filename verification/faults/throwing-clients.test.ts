import { Redis } from 'ioredis';
import { createClient } from 'redis';

import { type RedisTarget, Semaphore } from '../../src/index.js';
import { nodeRedisConnection } from '../../src/redis/adapters/node-redis.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { newName } from '../../test/support/client-bench.js';
import { Mischief, type Way, ways } from './mischief.js';

interface Opened {
  readonly target: RedisTarget;
  readonly end: () => void;
}

interface Kind {
  open(server: TestServer, mischief: Mischief): Promise<Opened>;
  /** Members that go wrong at the same time. */
  readonly members: readonly (readonly string[])[];
  /** Those that give no promise. */
  readonly sync: readonly string[];
}

async function nodeRedis(server: TestServer) {
  const client = createClient({ url: server.url });
  client.on('error', () => undefined);
  await client.connect();
  // As if there were a replica.
  return Object.assign(client, { wait: () => Promise.resolve(1) });
}

const kinds: Record<string, Kind> = {
  'a redis client': {
    open: async (server, mischief) => {
      const client = await nodeRedis(server);
      return { target: mischief.in(client), end: () => client.destroy() };
    },
    members: [
      ['sendCommand', 'evalSha'],
      ['sendCommand', 'evalSha', 'isOpen'],
      ['isReady'],
      ['eval'],
      ['wait'],
      ['duplicate'],
      ['on'],
      ['connect'],
      ['subscribe'],
      ['destroy', 'disconnect'],
      ['unref'],
    ],
    sync: ['isOpen', 'isReady', 'on', 'unref'],
  },
  'an ioredis client': {
    open: async (server, mischief) => {
      const client = new Redis(server.port, { lazyConnect: true });
      client.on('error', () => undefined);
      await client.connect();
      Object.assign(client, { wait: () => Promise.resolve(1) });
      return { target: mischief.in(client), end: () => client.disconnect() };
    },
    members: [
      ['evalsha'],
      ['evalsha', 'status'],
      ['eval'],
      ['wait'],
      ['duplicate'],
      ['on'],
      ['subscribe'],
      ['disconnect'],
      ['stream'],
    ],
    sync: ['status', 'on', 'disconnect', 'stream'],
  },
  'a RedisConnection': {
    open: async (server, mischief) => {
      const client = await nodeRedis(server);
      const connection = nodeRedisConnection(client);
      return { target: mischief.in(connection), end: () => client.destroy() };
    },
    members: [
      ['runBySha'],
      ['runBySha', 'isClosed'],
      ['runByText'],
      ['replication'],
      ['subscribe'],
    ],
    sync: ['isClosed', 'replication', 'subscribe'],
  },
};

/** Those whose call can go that way. */
function wrongIn({ sync }: Kind, members: readonly string[], way: Way): readonly string[] {
  return way.startsWith('throws') ? members : members.filter((name) => !sync.includes(name));
}

/** Whatever goes wrong: each call settles, and the next ones work once the client behaves. */
async function survives(server: TestServer, kind: Kind, way: Way, members: readonly string[]) {
  const mischief = new Mischief(way, members);
  const { target, end } = await kind.open(server, mischief);
  const well = await kind.open(server, new Mischief(way, []));
  const name = newName();
  const replicas = { atLeast: 1, timeout: 100 };
  const own = new Semaphore(target, name, { limit: 2, ttl: 500, replicas });
  const other = new Semaphore(well.target, name, { limit: 2, ttl: 30_000 });
  try {
    const before = await own.acquire();
    const kept = await other.acquire();
    await server.command('SCRIPT', 'FLUSH');
    mischief.on = true;
    await Promise.allSettled([own.acquire(200), own.tryAcquire(), before.release()]);
    mischief.on = false;
    await kept.release();
    const handle = await own.acquire(20_000);
    await handle.release();
  } catch (error) {
    throw new Error(`${members.join(' and ')}: ${String(error)}`, { cause: error });
  } finally {
    await Promise.all([own.close(), other.close()]);
    end();
    well.end();
  }
}

describeWithServer('nothing gets past a semaphore', (server) => {
  for (const [which, kind] of Object.entries(kinds)) {
    for (const way of ways) {
      it(`where any call of ${which} ${way}`, async () => {
        const wrong = kind.members.map((members) => wrongIn(kind, members, way));
        const some = wrong.filter((members) => members.length > 0);
        await Promise.all(some.map((members) => survives(server(), kind, way, members)));
      });
    }
  }
});
