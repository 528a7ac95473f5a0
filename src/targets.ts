import type { Backend } from './backend.js';
import type { IoredisClient } from './redis/adapters/ioredis.js';
import { ioredisConnection, isIoredis } from './redis/adapters/ioredis.js';
import type { NodeRedisClient } from './redis/adapters/node-redis.js';
import { isNodeRedis, nodeRedisConnection } from './redis/adapters/node-redis.js';
import type { RedisConnection } from './redis/connection.js';
import { RedisBackend } from './redis/redis-backend.js';

/** A `redis` client, cluster, sentinel or pool, an `ioredis` Redis or Cluster, or any object with the two methods of `RedisConnection`. */
export type RedisTarget = NodeRedisClient | IoredisClient | RedisConnection;

// One backend for each client object, so that all semaphores on it share their calls and one subscriber.
const backends = new WeakMap<object, Backend>();

/** The backend for what a user passed, told by its methods and never by its class. */
export function backendOf(target: RedisTarget | Backend): Backend {
  if (typeof target !== 'object' || target === null) throw unknownTarget(target);
  if (isBackend(target)) return target;
  let backend = backends.get(target);
  if (backend === undefined) {
    backend = new RedisBackend(connectionOf(target));
    backends.set(target, backend);
  }
  return backend;
}

function connectionOf(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  if (isConnection(target)) return target;
  throw unknownTarget(target);
}

function isBackend(target: object): target is Backend {
  return hasMethods(target, ['acquire', 'extend', 'release', 'inspect']);
}

function isConnection(target: object): target is RedisConnection {
  return hasMethods(target, ['runBySha', 'runByText']);
}

function hasMethods(target: object, names: readonly string[]): boolean {
  return names.every((name) => name in target && typeof Reflect.get(target, name) === 'function');
}

function unknownTarget(target: unknown): TypeError {
  const got = typeof target === 'object' && target !== null ? 'another object' : String(target);
  return new TypeError(
    `target: expected a client of redis or ioredis, a Backend or a RedisConnection, got ${got}`,
  );
}
