import { createClient } from 'redis';

import { type RedisConnection, Semaphore } from '../../src/index.js';
import { nodeRedisConnection } from '../../src/backends/redis/adapters/node-redis.js';
import { newName } from '../../test/support/client-fixture.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';

/** The ways in which a call into a client may fail. */
const WAYS: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error('went wrong');
  },
  rejects: () => Promise.reject(new Error('went wrong')),
  'never settles': () => new Promise(() => {}),
};

/** A call that gives no promise can only throw. */
const SYNC = ['replication', 'subscribe'];

/** The connection with one member that goes wrong while it is on. */
function spoil(connection: RedisConnection, member: string, goWrong: () => unknown) {
  const mischief = { on: false };
  const target = new Proxy(connection, {
    get: (object, name) => {
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== 'function') return value;
      if (mischief.on && name === member) return goWrong;
      return (...args: unknown[]): unknown => Reflect.apply(value, object, args);
    },
  });
  return { mischief, target };
}

/** As if there were a replica. */
const wait = (): Promise<number> => Promise.resolve(1);

async function nodeRedis({ url }: TestServer) {
  const client = createClient({ url }).on('error', () => undefined);
  await client.connect();
  return Object.assign(client, { wait });
}

/** Whatever goes wrong: each call settles, and the next ones work once the client behaves. */
async function survives(server: TestServer, member: string, goWrong: () => unknown) {
  const [ill, well] = [await nodeRedis(server), await nodeRedis(server)];
  const { mischief, target } = spoil(nodeRedisConnection(ill), member, goWrong);
  const name = newName();
  const replicas = { atLeast: 1, timeout: 100 };
  const own = new Semaphore(target, name, { limit: 2, ttl: 500, replicas });
  const other = new Semaphore(nodeRedisConnection(well), name, { limit: 2, ttl: 30_000 });
  try {
    const before = await own.acquire();
    const kept = await other.acquire();
    await server.command('SCRIPT', 'FLUSH');
    mischief.on = true;
    await Promise.allSettled([own.acquire(200), own.tryAcquire(), before.release()]);
    mischief.on = false;
    await kept.release();
    await (await own.acquire(20_000)).release();
  } catch (error) {
    throw new Error(`${member}: ${String(error)}`, { cause: error });
  } finally {
    await Promise.all([own.close(), other.close()]);
    ill.destroy();
    well.destroy();
  }
}

describeWithServer('nothing gets past a semaphore', (server) => {
  for (const [way, goWrong] of Object.entries(WAYS)) {
    it(`where any call of a RedisConnection ${way}`, async () => {
      const members = ['runBySha', 'runByText', ...(way === 'throws' ? SYNC : [])];
      await Promise.all(members.map((member) => survives(server(), member, goWrong)));
    });
  }
});
