import type { Backend } from './backends/backend.js';
import { text } from './options.js';
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
import { checkType, rangeError, typeError } from './arguments/validation.js';
import { checkOptions, optionNames } from './arguments/known-options.js';

/**
 * A `redis` client, cluster, sentinel or pool, a Redis or Cluster of `ioredis` or `iovalkey`, or
 * any object with the two methods of `RedisConnection`.
 */
export type SingleTarget = NodeRedisClient | IoredisClient | RedisConnection;

/** One of these, or several that are independent masters: a majority of them decides. */
export type RedisTarget = SingleTarget | readonly SingleTarget[];

// One backend for each client object, so that all semaphores on it share their calls and one
// subscriber.
const backends = new WeakMap<object, Backend>();

/**
 * The backend of the clients on the way to here, in their order, and those of longer lists that
 * begin with them.
 */
interface Quorums {
  readonly longer: WeakMap<object, Quorums>;
  backend: Backend | undefined;
}

/** What was made of an object before; made now if nothing was. */
function madeOf<Made>(known: WeakMap<object, Made>, from: object, make: () => Made): Made {
  const made = known.get(from) ?? make();
  known.set(from, made);
  return made;
}

// The same clients in the same order are the same backend, whatever array they come in. Client by
// client, so that a long-lived one does not keep those that it was once listed with.
const noClients = (): Quorums => ({ longer: new WeakMap(), backend: undefined });
const quorums = noClients();
const nodes = new WeakMap<object, QuorumNode>();

/** The backend for what a user passed, recognized by its methods and never by its class. */
export function backendOf(target: unknown): Backend {
  if (typeof target !== 'object' || target === null) throw unknownTarget(target);
  if (Array.isArray(target)) return quorumOf(target);
  if (isBackend(target)) return target;
  return madeOf(backends, target, () => new RedisBackend(connectionOf(target)));
}

const QUORUM_OPTIONS = optionNames('lists otherSet');

/** The options of `quorum`. */
export interface QuorumOptions {
  /**
   * Lists of nodes by name, of each of which a permit needs a majority: while the list is being
   * changed, the one before and the one to come. Each node must be in one of them. Default: one
   * list of all.
   */
  readonly lists?: readonly (readonly string[])[] | undefined;
  /**
   * What becomes of permits while other processes use the nodes in another set: `refuse`, a
   * `QuorumError` instead (default), or `warn`, only the `warning` event. Then two may hold one
   * permit.
   */
  readonly otherSet?: 'refuse' | 'warn' | undefined;
}

/**
 * A quorum of independent masters that have names, the same in every process: 1 to 256 bytes each.
 * Call it once and pass what it gives to every semaphore. An array of clients is the same with
 * their addresses as names.
 * @throws {TypeError | RangeError} at once, naming option, expectation and value
 */
export function quorum(
  clients: Readonly<Record<string, SingleTarget>>,
  options: QuorumOptions = {},
): Backend {
  // An array would give the places as names: those are the same in every list of nodes.
  const isNamed = isObject(clients) && !Array.isArray(clients);
  checkType(isNamed, 'clients', 'an object of clients by name', clients);
  checkOptions(options, QUORUM_OPTIONS);
  const names = Object.keys(clients).map((name) => text('clients', name, 1, 256));
  const targets = Object.values(clients);
  checkTargets(targets);
  const { lists, otherSet = 'refuse' } = options;
  const isKnown = otherSet === 'refuse' || otherSet === 'warn';
  checkType(isKnown, 'otherSet', "'refuse' or 'warn'", otherSet);
  return new QuorumBackend(targets.map(nodeOf), undefined, {
    names,
    otherSet,
    ...(lists !== undefined && { lists: indicesOf(lists, names) }),
  });
}

const isArray = (value: unknown): boolean => Array.isArray(value);

/** Each node by its index among all. */
function indicesOf(lists: readonly (readonly string[])[], names: readonly string[]): number[][] {
  const isList = isArray(lists) && lists.every(isArray);
  checkType(isList, 'lists', 'an array of arrays of names', lists);
  const indices = lists.map((list) => list.map((name) => names.indexOf(name)));
  const used = new Set(indices.flat());
  const wrong = indices.some((list) => list.length === 0 || new Set(list).size < list.length);
  if (wrong || used.has(-1) || used.size < names.length) {
    throw rangeError(
      `lists: expected lists of the nodes ${shown(names.join(', '))}, each node in one of them, got ${shown(JSON.stringify(lists))}`,
    );
  }
  return indices;
}

function quorumOf(targets: readonly unknown[]): Backend {
  checkTargets(targets);
  let known = quorums;
  for (const target of targets) {
    if (!isObject(target)) throw unknownTarget(target);
    known = madeOf(known.longer, target, noClients);
  }
  known.backend ??= new QuorumBackend(targets.map(nodeOf));
  return known.backend;
}

function checkTargets(targets: readonly unknown[]): void {
  const { length } = targets;
  if (length === 0) throw rangeError('target: expected at least one client, got none');
  const isTwice = new Set(targets).size < length;
  if (isTwice) throw rangeError('target: expected each client once, got one twice');
  if (length <= MOST_NODES) return;
  throw rangeError(`target: expected at most ${MOST_NODES} clients, got ${length}`);
}

function nodeOf(target: unknown): QuorumNode {
  if (!isObject(target) || isBackend(target)) throw unknownTarget(target);
  if (is<QuorumNode>(target, 'hold', 'drop', 'list')) return target;
  return madeOf(nodes, target, () => new RedisQuorumNode(connectionOf(target), nodeName(target)));
}

function isObject(target: unknown): target is object {
  return typeof target === 'object' && target !== null;
}

function connectionOf(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  if (is<RedisConnection>(target, 'runBySha', 'runByText')) return target;
  throw unknownTarget(target);
}

function isBackend(target: object): target is Backend {
  return is<Backend>(target, 'acquire', 'extend', 'release', 'inspect');
}

function is<T>(target: object, ...methods: (keyof T & string)[]): target is T & object {
  return hasMethods(target, ...methods);
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
