import type { Backend } from './backends/backend.js';
import { checkRange, checkType, isObject, text, typeError } from './arguments/validation.js';
import { MOST_NODES } from './backends/quorum/votes.js';
import { QuorumBackend } from './backends/quorum/quorum-backend.js';
import type { QuorumNode } from './backends/quorum/quorum-node.js';
import type { IoredisClient } from './backends/redis/adapters/ioredis.js';
import { ioredisConnection, isIoredis } from './backends/redis/adapters/ioredis.js';
import type { NodeRedisClient } from './backends/redis/adapters/node-redis.js';
import { isNodeRedis, nodeRedisConnection } from './backends/redis/adapters/node-redis.js';
import { hasMethods } from './backends/redis/adapters/shape.js';
import type { RedisConnection } from './backends/redis/connection.js';
import { nodeName } from './backends/quorum/node-name.js';
import { RedisQuorumNode } from './backends/quorum/redis-node.js';
import { RedisBackend } from './backends/redis/redis-backend.js';
import { formatValue, shown } from './arguments/shown.js';
import { checkOptions } from './arguments/known-options.js';

/**
 * A `redis` client, cluster, sentinel or pool, a Redis or Cluster of `ioredis` or `iovalkey`, or
 * any object with the two methods of `RedisConnection`.
 */
export type SingleTarget = NodeRedisClient | IoredisClient | RedisConnection;

/**
 * A client or a connection, or an array of clients of independent masters: a majority of the
 * masters decides.
 */
export type RedisTarget = SingleTarget | readonly SingleTarget[];

// One backend for each client object, so that all semaphores on it share their calls and one
// subscriber.
const backends = new WeakMap<object, Backend>();

/**
 * A tree of backends, by the nodes of a list in their order: a branch has the backend of the nodes
 * on the way to it, and the branches for longer lists.
 */
class Quorums {
  readonly longer = new WeakMap<object, Quorums>();
  backend: Backend | undefined;
}

/** Gives the value that was made for an object before, else makes it. */
function madeOf<Made>(known: WeakMap<object, Made>, from: object, make: () => Made): Made {
  const made = known.get(from) ?? make();
  known.set(from, made);
  return made;
}

// The same clients in the same order have the same backend, whichever array lists them. The tree
// goes client by client, so that a client that lives long does not keep others in memory.
const quorums = new Quorums();
const nodes = new WeakMap<object, QuorumNode>();

/** The backend for a user's target. Methods decide what the target is; its class does not. */
export function backendOf(target: unknown): Backend {
  if (typeof target !== 'object' || target === null) throw unknownTarget(target);
  if (Array.isArray(target)) return quorumOf(target);
  if (isBackend(target)) return target;
  return madeOf(backends, target, () => new RedisBackend(connectionOf(target)));
}

/** The options of `quorum`. */
export interface QuorumOptions {
  /**
   * Lists of nodes by name. A permit needs a majority of each list. While you change the list, give
   * the old list and the new list. Each node must be in a list. Default: a single list of all
   * nodes.
   */
  readonly lists?: readonly (readonly string[])[] | undefined;
  /**
   * What happens while other processes use the nodes in another set: `refuse` (default) rejects
   * with a `QuorumError`; `warn` grants permits and emits only the `warning` event, so two holders
   * may have the same permit.
   */
  readonly otherSet?: 'refuse' | 'warn' | undefined;
}

/**
 * Makes a quorum of independent masters. Their names have 1 to 256 bytes each, and are the same in
 * every process. Call it once, and pass the result to every semaphore. An array of clients is a
 * quorum with addresses as names.
 * @throws {TypeError | RangeError} at once, naming option, expectation and value
 */
export function quorum(
  clients: Readonly<Record<string, SingleTarget>>,
  options: QuorumOptions = {},
): Backend {
  // In an array the places would be the names, and every list of nodes has the same places.
  checkType(isObject(clients), 'clients', 'an object of clients by name', clients);
  checkOptions(options, 'lists otherSet');
  const names = Object.keys(clients).map((name) => text('clients', name, 1, 256));
  const targets = Object.values(clients);
  checkTargets(targets);
  const { lists, otherSet = 'refuse' } = options;
  checkType(['refuse', 'warn'].includes(otherSet), 'otherSet', "'refuse' or 'warn'", otherSet);
  const indices = lists === undefined ? undefined : indicesOf(lists, names);
  return new QuorumBackend(targets.map(nodeOf), undefined, { names, otherSet, lists: indices });
}

const isArray = (value: unknown): boolean => Array.isArray(value);

/** Each node by its index among all. */
function indicesOf(lists: readonly (readonly string[])[], names: readonly string[]): number[][] {
  const isList = isArray(lists) && lists.every(isArray);
  checkType(isList, 'lists', 'an array of arrays of names', lists);
  const indices = lists.map((list) => list.map((name) => names.indexOf(name)));
  const used = new Set(indices.flat());
  const wrong = indices.some((list) => list.length === 0 || new Set(list).size < list.length);
  const fits = !wrong && !used.has(-1) && used.size === names.length;
  const expected = `lists of the nodes ${shown(names.join(', '))}, each node in one of them`;
  checkRange(fits, 'lists', expected, shown(JSON.stringify(lists)));
  return indices;
}

function quorumOf(targets: readonly unknown[]): Backend {
  checkTargets(targets);
  const listed = targets.map(nodeOf);
  let known = quorums;
  for (const node of listed) known = madeOf(known.longer, node, () => new Quorums());
  return (known.backend ??= new QuorumBackend(listed));
}

function checkTargets(targets: readonly unknown[]): void {
  const { length } = targets;
  checkRange(length > 0, 'target', 'at least one client', 'none');
  checkRange(new Set(targets).size === length, 'target', 'each client once', 'one twice');
  checkRange(length <= MOST_NODES, 'target', `at most ${MOST_NODES} clients`, length);
}

function nodeOf(target: unknown): QuorumNode {
  if (!isObject(target) || isBackend(target)) throw unknownTarget(target);
  if (hasMethods<QuorumNode>(target, 'hold', 'drop', 'list')) return target;
  return madeOf(nodes, target, () => new RedisQuorumNode(connectionOf(target), nodeName(target)));
}

function connectionOf(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  if (hasMethods<RedisConnection>(target, 'runBySha', 'runByText')) return target;
  throw unknownTarget(target);
}

function isBackend(target: object): target is Backend {
  return hasMethods<Backend>(target, 'acquire', 'extend', 'release', 'inspect');
}

function unknownTarget(target: unknown): TypeError {
  return typeError(
    `target: expected a client (new Redis(url) of ioredis or iovalkey, or await createClient({ url }).connect() of redis), a Backend or a RedisConnection, got ${targetShown(target)}`,
  );
}

function targetShown(target: unknown): string {
  const what = formatValue(target);
  if (!isObject(target)) return what;
  if (hasMethods(target, 'invokeScript')) return `${what}: Valkey GLIDE is not supported`;
  return hasMethods(target, 'evalsha', 'eval') ? `${what}, without events: over HTTP?` : what;
}
