import type { RedisConnection } from '../connection.js';
import {
  anyReady,
  type Close,
  type ConnectionEvents,
  type Leader,
  movingSubscription,
} from './moving-subscription.js';
import { hasMethods, replicationOf, type Waitable } from './shape.js';

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/**
 * What is used of a `redis` client, cluster, sentinel or pool (4, 5, 6; RESP2 and RESP3), by shape,
 * so that every version's own type fits.
 */
export interface NodeRedisClient {
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  readonly isOpen?: boolean;
}

/** A single client (4, 5, 6), which sends each call over its one connection. */
interface OneConnection {
  duplicate(): Subscriber;
  sendCommand(args: string[], options?: object): Promise<unknown>;
  readonly isReady?: boolean;
  /** Version 6 puts the prefix before the keys of `evalSha` and `eval`, not of `sendCommand`. */
  readonly options?: { readonly keyPrefix?: unknown };
}

interface Subscriber {
  on(event: string, listener: (...args: never[]) => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  destroy?(): unknown;
  disconnect?(): Promise<unknown>;
  unref?(): void;
}

type MakeCopy = () => Subscriber | Promise<Subscriber>;

interface Node {
  readonly client?: { readonly isReady?: boolean } | undefined;
}

type NodeClient = OneConnection & NodeRedisClient;

/** What a client offers to its own maintenance since version 5.9. */
interface Pausable extends Pick<Subscriber, 'on'> {
  _pause(): void;
  _unpause(): void;
}

/** What is used of `createCluster` (4, 5, 6) beyond its commands. */
interface NodeRedisCluster extends Pick<Subscriber, 'on'> {
  readonly masters: readonly Node[];
  readonly replicas: readonly Node[];
  nodeClient(node: Node): NodeClient | Promise<NodeClient>;
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>;
}

/** What is used of `createSentinel` (5, 6) beyond its commands. */
interface NodeRedisSentinel extends Leader {
  /** Hands its client of the master to a function, as each of its commands does. */
  _execute<T>(isReadonly: boolean, use: (master: NodeClient) => Promise<T>): Promise<T>;
}

/** What is used of `createClientPool` (5, 6) beyond its commands. */
interface NodeRedisPool {
  execute<T>(use: (client: NodeRedisClient) => Promise<T>): Promise<T>;
}

export function isNodeRedis(target: object): target is NodeRedisClient {
  return hasMethods(target, 'evalSha', 'eval');
}

/**
 * A client rejects what was in flight when its connection drops, its sentinel sends it again: both
 * are right here, because scripts are idempotent by ticket id. See `../connection.ts`.
 */
export function nodeRedisConnection(client: NodeRedisClient): RedisConnection {
  keepInStep(client);
  const subscribe = subscriberOf(client);
  return {
    ...scriptsOf(client),
    isClosed: () => client.isOpen === false,
    ...(subscribe !== undefined && { subscribe }),
    ...(isCluster(client) && { eachMaster: () => eachMaster(client) }),
    ...(isOneConnection(client) &&
      hasMethods<Waitable>(client, 'wait', 'on') && {
        replication: replicationOf(client, ['error', 'reconnecting', 'end']),
      }),
  };
}

const keptInStep = new WeakSet();

/** `clientUnblock` is new in version 6. */
const isSixth = (client: object): boolean => hasMethods(client, 'clientUnblock');

/**
 * Version 5 writes what it has to send one turn later, also when its connection is lost meanwhile:
 * to the dead socket. Such a call takes the first reply of the next connection for its own, and
 * each later call gets the reply of another. A client that is paused for that turn keeps the call
 * for the next connection, as version 6 does. See https://github.com/redis/node-redis/pull/3209.
 */
function keepInStep<T extends object>(client: T): T {
  if (isSixth(client) || keptInStep.has(client)) return client;
  keptInStep.add(client);
  if (isCluster(client)) keepNodesInStep(client);
  if (!hasMethods<Pausable>(client, '_pause', '_unpause', 'on')) return client;
  const resume = (): void => client._unpause();
  client.on('reconnecting', () => {
    client._pause();
    setImmediate(resume);
  });
  // Its handshake must not wait.
  client.on('connect', resume);
  return client;
}

/** The clients of its nodes, also of nodes that it connects to later. */
function keepNodesInStep(cluster: NodeRedisCluster): void {
  const keep = (): void => {
    for (const { client = {} } of [...cluster.masters, ...cluster.replicas]) keepInStep(client);
  };
  keep();
  cluster.on('node-ready', keep);
}

async function eachMaster(cluster: NodeRedisCluster): Promise<RedisConnection[]> {
  const nodes = await Promise.all(cluster.masters.map(async (node) => cluster.nodeClient(node)));
  return nodes.map(nodeRedisConnection);
}

/**
 * Not a cluster, a sentinel or a pool, which send a call over any of several connections. A pool
 * has no `duplicate`.
 */
function isOneConnection(client: object): client is OneConnection {
  const canSubscribe = hasMethods<OneConnection & Subscriber>(client, 'duplicate', 'subscribe');
  return canSubscribe && !isCluster(client) && !isSentinel(client);
}

/**
 * How long a command may wait to be written is limited to 5 s since version 6, by an AbortSignal
 * for each, which takes longer than all the rest of a call. A connection that is ready writes at
 * once, so there it is for nothing.
 */
const NO_TIMEOUT = { timeout: undefined };

type Scripts = Pick<RedisConnection, 'runBySha' | 'runByText'>;

/** Nothing async, and no promise beside the client's own: each call passes here. */
function scriptsOf(client: NodeRedisClient): Scripts {
  // Version 4 takes the key of EVAL and EVALSHA from the wrong argument, and so asks a node by
  // chance.
  if (isCluster(client) && !hasMethods(client, 'destroy'))
    return scriptsBy((words, key) => client.sendCommand(key, false, words));
  if (isOneConnection(client) && client.options?.keyPrefix === undefined)
    return scriptsBy((words) => client.sendCommand(words, client.isReady ? NO_TIMEOUT : {}));
  const byOne = throughOneOf(client);
  return {
    runBySha: (sha1, keys, args) =>
      byOne((one) => one.evalSha(sha1, { keys: [...keys], arguments: [...args] })),
    runByText: (text, keys, args) =>
      byOne((one) => one.eval(text, { keys: [...keys], arguments: [...args] })),
  };
}

/** A sentinel client and a pool of version 5 lend their clients, which are kept in step then. */
function throughOneOf(client: NodeRedisClient): NodeRedisPool['execute'] {
  if (isSixth(client)) return (use) => use(client);
  if (isSentinel(client)) return (use) => client._execute(false, (one) => use(keepInStep(one)));
  if (hasMethods<NodeRedisPool>(client, 'execute'))
    return (use) => client.execute((one) => use(keepInStep(one)));
  return (use) => use(client);
}

function scriptsBy(send: (words: string[], key: string) => Promise<unknown>): Scripts {
  const run =
    (command: string): Scripts['runBySha'] =>
    (script, keys, args) =>
      send([command, script, String(keys.length), ...keys, ...args], keys[0] ?? '');
  return { runBySha: run('EVALSHA'), runByText: run('EVAL') };
}

function subscriberOf(client: object): RedisConnection['subscribe'] {
  const copy = copierOf(client);
  if (copy === undefined) return undefined;
  const leader = isSentinel(client) ? client : undefined;
  return (channel, events) =>
    movingSubscription((own) => open(copy, channel, own), events, 'topology-change', leader);
}

/**
 * What one node publishes goes to all of a cluster, so a connection to a single node is enough. A
 * copy of a whole cluster or sentinel client would have several connections, not report the loss of
 * its subscriber, and keep the process alive.
 */
function copierOf(client: object): MakeCopy | undefined {
  if (isSentinel(client)) {
    return () => client._execute(false, (master) => Promise.resolve(master.duplicate()));
  }
  // On a pool, waiting is by polling alone.
  if (!isCluster(client)) return isOneConnection(client) ? () => client.duplicate() : undefined;
  return async () => {
    const node = anyReady(client.masters, ({ client: one }) => one?.isReady === true);
    return (await client.nodeClient(node)).duplicate();
  };
}

function isCluster(client: object): client is NodeRedisCluster {
  return hasMethods(client, 'nodeClient', 'sendCommand') && 'masters' in client;
}

function isSentinel(client: object): client is NodeRedisSentinel {
  // `setTracer` is its own; a client, a cluster and a pool have none.
  return hasMethods(client, 'setTracer', 'on', 'removeListener');
}

/**
 * The life of one copy of a client: it connects, it is connected, it has ended. Its first error
 * ends it, before it reconnects. While it makes its socket it cannot be ended: 4 and 5 would only
 * mark it as closed, and the socket that comes then would stay open. So a client that is closed
 * while it connects ends once it reports its socket, or that there is none.
 */
function open(copy: MakeCopy, channel: string, events: ConnectionEvents): Close {
  let client: Subscriber | undefined;
  let [isConnecting, isClosed] = [false, false];
  let setEnded!: () => void;
  const ended = new Promise<void>((resolve) => (setEnded = resolve));

  const end = async (): Promise<void> => {
    try {
      // Version 4 knows no `destroy`.
      await (client?.destroy === undefined ? client?.disconnect?.() : client.destroy());
    } catch {
      // It was not open. An error after its end ends it once more.
    }
    setEnded();
  };
  /** Its socket is there, or there is none. */
  const settle = (): void => {
    isConnecting = false;
    if (isClosed) void end();
  };
  const lose = (): void => {
    isClosed = true;
    settle();
    events.onHealth(false);
  };
  const connect = async (): Promise<void> => {
    client = await copy();
    if (isClosed) return;
    // A copy has no listeners yet; without this one, a lost connection would end the process.
    client.on('error', lose);
    client.on('end', lose);
    // When version 4 is ended before it has written its first commands, it rejects promises that no
    // code listens to yet.
    client.on('connect', () => queueMicrotask(settle));
    client.unref?.();
    isConnecting = true;
    await client.connect().finally(settle);
    if (isClosed) return;
    await client.subscribe(channel, (message) => events.onMessage(message));
    events.onHealth(true);
  };
  connect().catch(lose);
  return async () => {
    isClosed = true;
    // Not while it reads: version 4 forgets its subscription at once, and the next message of the
    // same packet ends the process.
    await Promise.resolve();
    if (!isConnecting) void end();
    await ended;
  };
}
