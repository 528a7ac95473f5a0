import type { Backend } from './backend.js';
import { QuorumBackend } from './quorum/quorum-backend.js';
import type { QuorumNode } from './quorum/quorum-node.js';
import type { IoredisClient } from './redis/adapters/ioredis.js';
import { ioredisConnection, isIoredis } from './redis/adapters/ioredis.js';
import type { NodeRedisClient } from './redis/adapters/node-redis.js';
import { isNodeRedis, nodeRedisConnection } from './redis/adapters/node-redis.js';
import type { RedisConnection } from './redis/connection.js';
import { guardedConnection } from './redis/guarded-connection.js';
import { RedisQuorumNode } from './redis/quorum-node.js';
import { RedisBackend } from './redis/redis-backend.js';

/** A `redis` client, cluster, sentinel or pool, an `ioredis` Redis or Cluster, or any object with the two methods of `RedisConnection`. */
export type SingleTarget = NodeRedisClient | IoredisClient | RedisConnection;

/** One of these, or several that are independent masters: a majority of them decides. */
export type RedisTarget = SingleTarget | readonly SingleTarget[];

// One backend for each client object, so that all semaphores on it share their calls and one subscriber.
const backends = new WeakMap<object, Backend>();

/** The backend of the clients on the way to here, in their order, and those of longer lists that begin with them. */
interface Quorums {
  readonly longer: WeakMap<object, Quorums>;
  backend: Backend | undefined;
}

// The same clients in the same order are the same backend, whatever array they come in. Client by client, so that a
// long-lived one does not keep those that it was once listed with.
const quorums: Quorums = { longer: new WeakMap(), backend: undefined };
const nodes = new WeakMap<object, QuorumNode>();

/** The backend for what a user passed, told by its methods and never by its class. */
export function backendOf(target: RedisTarget | Backend): Backend {
  if (typeof target !== 'object' || target === null) throw unknownTarget(target);
  if (Array.isArray(target)) return quorumOf(target);
  if (isBackend(target)) return target;
  let backend = backends.get(target);
  if (backend === undefined) {
    backend = new RedisBackend(connectionOf(target));
    backends.set(target, backend);
  }
  return backend;
}

function quorumOf(targets: readonly unknown[]): Backend {
  if (targets.length === 0) {
    throw new RangeError('target: expected at least one client in the array, got none');
  }
  if (new Set(targets).size < targets.length) {
    throw new RangeError('target: expected each client once in the array, got one twice');
  }
  let quorum = quorums;
  for (const target of targets) {
    if (!isObject(target)) throw unknownTarget(target);
    let longer = quorum.longer.get(target);
    if (longer === undefined) {
      quorum.longer.set(target, (longer = { longer: new WeakMap(), backend: undefined }));
    }
    quorum = longer;
  }
  quorum.backend ??= new QuorumBackend(targets.map(nodeOf));
  return quorum.backend;
}

function nodeOf(target: unknown): QuorumNode {
  if (!isObject(target) || isBackend(target)) throw unknownTarget(target);
  if (isQuorumNode(target)) return target;
  let node = nodes.get(target);
  if (node === undefined) nodes.set(target, (node = new RedisQuorumNode(connectionOf(target))));
  return node;
}

function isObject(target: unknown): target is object {
  return typeof target === 'object' && target !== null;
}

function isQuorumNode(target: object): target is QuorumNode {
  return hasMethods(target, ['take', 'keep', 'drop', 'list']);
}

function connectionOf(target: object): RedisConnection {
  if (isNodeRedis(target)) return guardedConnection(nodeRedisConnection(target));
  if (isIoredis(target)) return guardedConnection(ioredisConnection(target));
  if (isConnection(target)) return guardedConnection(target);
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
