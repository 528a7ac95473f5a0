import type { RedisConnection, RedisTarget } from '../../src/index.js';
import { ioredisConnection, isIoredis } from '../../src/backends/redis/adapters/ioredis.js';
import { isNodeRedis, nodeRedisConnection } from '../../src/backends/redis/adapters/node-redis.js';

export const clientKinds = ['redis', 'redis-5', 'redis-4', 'ioredis', 'ioredis-6'] as const;

export type ClientKind = (typeof clientKinds)[number];

/** The methods of the clients of both libraries, whatever their version. */
interface Client {
  readonly isOpen?: boolean;
  readonly stream?: { destroy(): unknown };
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  disconnect?(): unknown;
  destroy?(): unknown;
}

export interface OpenClient {
  readonly target: RedisTarget;
  /** At once, whatever the server does. */
  close(): Promise<void>;
}

/** A connected client of a supported package and major; all together load for half a second. */
export async function openClient(kind: ClientKind, url: string): Promise<OpenClient> {
  if (kind === 'redis') return connected((await import('redis')).createClient({ url }));
  if (kind === 'redis-5') return connected((await import('redis-5')).createClient({ url }));
  if (kind === 'redis-4') return connected((await import('redis-4')).createClient({ url }));
  // The ready check wants INFO, and says so aloud when the user may not.
  const options = { lazyConnect: true, enableReadyCheck: !url.includes('@') };
  if (kind === 'ioredis') return connected(new (await import('ioredis')).Redis(url, options));
  return connected(new (await import('ioredis-6')).Redis(url, options));
}

/** The connection that a client of either library is reached by. */
export function connectionTo(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  throw new TypeError('expected a client of redis or ioredis');
}

export async function connected(client: Client & RedisTarget): Promise<OpenClient> {
  // Without a listener a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  const close = async (): Promise<void> => {
    if (client.isOpen === false) return;
    if (client.destroy === undefined) await client.disconnect?.();
    else client.destroy();
    // By itself ioredis gives a server that hangs 2 s to say goodbye.
    client.stream?.destroy();
  };
  return { target: client, close };
}
