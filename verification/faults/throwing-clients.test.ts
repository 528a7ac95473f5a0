import { createClient } from 'redis';

import { type RedisTarget, Semaphore } from '../../src/index.js';
import { nodeRedisConnection } from '../../src/backends/redis/adapters/node-redis.js';
import { newName } from '../../test/support/client-fixture.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';

/** What may become of one call into a client. */
const ways = ['throws', 'rejects', 'never settles'];

/** Which members of an object, and of its copies, go wrong while it is on. */
class Mischief {
  readonly #way: string;
  readonly #names: readonly string[];
  on = false;

  constructor(way: string, names: readonly string[]) {
    this.#way = way;
    this.#names = names;
  }

  in<T extends object>(object: T): T {
    return new Proxy(object, {
      get: (target, name) => {
        const wrong = this.on && typeof name === 'string' && this.#names.includes(name);
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        if (wrong) return () => this.#goWrong();
        return name === 'duplicate'
          ? (...args: unknown[]) => this.in(call(...args) as object)
          : call;
      },
    });
  }

  #goWrong(): unknown {
    const error = new Error('went wrong');
    if (this.#way === 'throws') throw error;
    if (this.#way === 'rejects') return Promise.reject(error);
    return new Promise(() => {});
  }
}

interface Kind {
  open(server: TestServer): Promise<{ readonly target: RedisTarget; readonly end: () => void }>;
  /** Members that go wrong one after the other; with `+`: at the same time. */
  readonly members: string;
  /** Those that give no promise. */
  readonly sync: string;
}

/** As if there were a replica. */
const wait = (): Promise<number> => Promise.resolve(1);

async function nodeRedis(server: TestServer) {
  const client = createClient({ url: server.url }).on('error', () => undefined);
  await client.connect();
  return Object.assign(client, { wait });
}

const kinds: Record<string, Kind> = {
  'a RedisConnection': {
    open: async (server) => {
      const client = await nodeRedis(server);
      return { target: nodeRedisConnection(client), end: () => client.destroy() };
    },
    members: 'runBySha runByText replication subscribe',
    sync: 'isClosed replication subscribe',
  },
};

/** Whatever goes wrong: each call settles, and the next ones work once the client behaves. */
async function survives(server: TestServer, kind: Kind, way: string, members: readonly string[]) {
  const mischief = new Mischief(way, members);
  const [ill, well] = [await kind.open(server), await kind.open(server)];
  const name = newName();
  const replicas = { atLeast: 1, timeout: 100 };
  const own = new Semaphore(mischief.in(ill.target), name, { limit: 2, ttl: 500, replicas });
  const other = new Semaphore(well.target, name, { limit: 2, ttl: 30_000 });
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
    throw new Error(`${members.join(' and ')}: ${String(error)}`, { cause: error });
  } finally {
    await Promise.all([own.close(), other.close()]);
    ill.end();
    well.end();
  }
}

describeWithServer('nothing gets past a semaphore', (server) => {
  for (const [which, kind] of Object.entries(kinds)) {
    for (const way of ways) {
      it(`where any call of ${which} ${way}`, async () => {
        // What gives no promise can only throw.
        const safe = way.startsWith('throws') ? [] : kind.sync.split(' ');
        const all = kind.members.split(' ').map((names) => names.split('+'));
        const wrong = all.map((names) => names.filter((name) => !safe.includes(name)));
        const some = wrong.filter((names) => names.length > 0);
        await Promise.all(some.map((members) => survives(server(), kind, way, members)));
      });
    }
  }
});
