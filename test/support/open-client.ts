import type { RedisConnection, RedisTarget } from '../../src/index.js';
import { ioredisConnection, isIoredis } from '../../src/backends/redis/adapters/ioredis.js';
import { isNodeRedis, nodeRedisConnection } from '../../src/backends/redis/adapters/node-redis.js';

export const clientKinds = ['redis', 'redis-5', 'redis-4', 'ioredis', 'ioredis-6'] as const;

export type ClientKind = (typeof clientKinds)[number];

interface Emitter {
  on(event: 'error', listener: () => void): unknown;
  eventNames(): (string | symbol)[];
  listenerCount(name: string | symbol): number;
}

export interface OpenClient {
  readonly target: RedisTarget;
  readonly emitter: Emitter;
  /** Runs a script of the test's own on the same connection. */
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** At once, whatever the server does. */
  close(): Promise<void>;
}

interface NodeRedis extends Emitter {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  destroy?(): void;
  disconnect(): Promise<unknown>;
}

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

interface Ioredis extends Emitter {
  readonly stream: { destroy(): unknown };
  connect(): Promise<void>;
  evalsha(sha1: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  disconnect(): void;
}

/**
 * A connected client of one of the packages and majors that are supported. All of them together
 * take half a second to load.
 */
export async function openClient(kind: ClientKind, url: string): Promise<OpenClient> {
  if (kind === 'redis') return openNodeRedis((await import('redis')).createClient({ url }));
  if (kind === 'redis-5') return openNodeRedis((await import('redis-5')).createClient({ url }));
  if (kind === 'redis-4') return openNodeRedis((await import('redis-4')).createClient({ url }));
  // The ready check wants INFO, and says so aloud when the user may not.
  const options = { lazyConnect: true, enableReadyCheck: !url.includes('@') };
  if (kind === 'ioredis') return openIoredis(new (await import('ioredis')).Redis(url, options));
  return openIoredis(new (await import('ioredis-6')).Redis(url, options));
}

/** The connection that a client of either library is reached by. */
export function connectionTo(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  throw new TypeError('expected a client of redis or ioredis');
}

async function openNodeRedis(client: NodeRedis): Promise<OpenClient> {
  // Without a listener a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return {
    target: client,
    emitter: client,
    run: (script, keys, args) => client.eval(script, { keys: [...keys], arguments: [...args] }),
    close: async () => {
      if (!client.isOpen) return;
      if (client.destroy === undefined) await client.disconnect();
      else client.destroy();
    },
  };
}

async function openIoredis(client: Ioredis): Promise<OpenClient> {
  client.on('error', () => undefined);
  await client.connect();
  return {
    target: client,
    emitter: client,
    run: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    close: async () => {
      client.disconnect();
      // By itself it gives a server that hangs 2 s to say goodbye.
      client.stream.destroy();
    },
  };
}
