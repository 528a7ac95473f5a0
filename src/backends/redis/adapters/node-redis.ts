import type { RedisConnection } from '../connection.js';
import type { Duplicable, NodeRedisClient } from './node-redis-client.js';
import { subscribeOnCopies } from './node-redis-client.js';
import type { NodeRedisCluster } from './node-redis-cluster.js';
import { isCluster, routesScriptsWrongly, subscribeOnNode } from './node-redis-cluster.js';
import { isSentinel, subscribeOnSentinel } from './node-redis-sentinel.js';
import { canWait, replicationOf } from './replication.js';
import { hasMethods } from './shape.js';

/** A single client of them. */
interface OneConnection {
  sendCommand(args: string[], options?: object): Promise<unknown>;
  readonly isReady?: boolean;
}

export function isNodeRedis(target: object): target is NodeRedisClient {
  return hasMethods(target, 'evalSha', 'eval');
}

/**
 * A client rejects what was in flight when its connection drops, its sentinel sends it again: both
 * are right here, because scripts are idempotent by ticket id. See `../connection.ts`.
 */
export function nodeRedisConnection(client: NodeRedisClient): RedisConnection {
  const subscribe = subscriberOf(client);
  return {
    ...(routesScriptsWrongly(client) ? routed(client) : scriptsOf(client)),
    isClosed: () => client.isOpen === false,
    ...(subscribe !== undefined && { subscribe }),
    ...(isCluster(client) && { eachMaster: () => eachMaster(client) }),
    ...(isOneConnection(client) &&
      canWait(client) && { replication: replicationOf(client, ['error', 'reconnecting', 'end']) }),
  };
}

function eachMaster(cluster: NodeRedisCluster): Promise<RedisConnection[]> {
  const connections = cluster.masters.map(async (master) =>
    nodeRedisConnection(await cluster.nodeClient(master)),
  );
  return Promise.all(connections);
}

/** Not a cluster, a sentinel or a pool, which send a call over any of several. */
function isOneConnection(client: object): boolean {
  return canSubscribe(client) && !isCluster(client) && !isSentinel(client);
}

type Scripts = Pick<RedisConnection, 'runBySha' | 'runByText'>;

/**
 * How long a command may wait to be written is limited to 5 s since version 6, by an AbortSignal
 * for each, which takes longer than all the rest of a call. A connection that is ready writes at
 * once, so there it is for nothing.
 */
const NO_TIMEOUT = { timeout: undefined };

/** Nothing async, and no promise beside the client's own: each call passes here. */
function scriptsOf(client: NodeRedisClient): Scripts {
  const one = isOneConnection(client) && canSend(client) ? client : undefined;
  return {
    runBySha: (sha1, keys, args) =>
      one?.isReady === true
        ? one.sendCommand(whole('EVALSHA', sha1, keys, args), NO_TIMEOUT)
        : client.evalSha(sha1, { keys: [...keys], arguments: [...args] }),
    runByText: (script, keys, args) =>
      client.eval(script, { keys: [...keys], arguments: [...args] }),
  };
}

function canSend(client: object): client is OneConnection {
  return hasMethods(client, 'sendCommand');
}

function routed(cluster: NodeRedisCluster): Scripts {
  const run =
    (command: string): Scripts['runBySha'] =>
    (script, keys, args) =>
      cluster.sendCommand(keys[0] ?? '', false, whole(command, script, keys, args));
  return { runBySha: run('EVALSHA'), runByText: run('EVAL') };
}

function whole(
  command: string,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): string[] {
  return [command, script, String(keys.length), ...keys, ...args];
}

function subscriberOf(client: object): RedisConnection['subscribe'] {
  if (isCluster(client)) return (...wanted) => subscribeOnNode(client, ...wanted);
  if (isSentinel(client)) return (...wanted) => subscribeOnSentinel(client, ...wanted);
  // A pool has no `duplicate`: there waiting is by polling alone.
  if (canSubscribe(client)) {
    return (...wanted) => subscribeOnCopies(() => client.duplicate(), ...wanted);
  }
  return undefined;
}

function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}
