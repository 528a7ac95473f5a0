import type { RedisConnection } from '../connection.js';
import { evalshaOf } from './ioredis-command.js';
import { detectsFailover, revived } from './ioredis-sentinel.js';
import {
  anyReady,
  type Close,
  type ConnectionEvents,
  movingSubscription,
} from './moving-subscription.js';
import { hasMethods, replicationOf, type Waitable } from './shape.js';

type CopyOptions = Record<string, boolean | number | (() => null)>;

/**
 * What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type
 * fits.
 */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: unknown[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: unknown[]): Promise<unknown>;
  readonly status?: string;
}

/** What is used of a single `ioredis` client (5, 6) beyond its commands. */
interface Duplicable {
  duplicate(options?: CopyOptions): Subscriber;
}

interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

/** What is used of an ioredis `Cluster` (5, 6) beyond its commands. */
interface IoredisCluster {
  nodes(role: 'master'): (Duplicable & IoredisClient)[];
}

export function isIoredis(target: object): target is IoredisClient {
  // Without events it speaks HTTP, as that of @upstash/redis does.
  return hasMethods(target, 'evalsha', 'eval', 'on');
}

/**
 * ioredis sends again what was in flight when its connection dropped; that is right here, for
 * scripts are idempotent by ticket id. Its `keyPrefix` goes before keys but not before channels,
 * which is why channels are built from our own prefix alone.
 */
export function ioredisConnection(client: IoredisClient): RedisConnection {
  const led = detectsFailover(client) ? client : undefined;
  const isPending = led && revived(led);
  // A cluster finds the node of each command itself, and the mock sends no text. Their command
  // flattens lists, so that a long list is not copied to be spread.
  const evalsha = isCluster(client) || isMock(client) ? undefined : evalshaOf(client);
  // Nothing async, and no promise beside the client's own: each call passes here.
  const connection: RedisConnection = {
    runBySha: evalsha ?? ((sha1, keys, args) => client.evalsha(sha1, keys.length, keys, args)),
    runByText: (script, keys, args) => client.eval(script, keys.length, keys, args),
    isClosed: () => client.status === 'end' && isPending?.() !== true,
  };
  const copy = copierOf(client);
  if (copy !== undefined) {
    connection.subscribe = (channel, events) =>
      movingSubscription((own) => open(copy(), channel, own), events, 'close', led);
  }
  if (isMock(client)) return { ...connection, serverClock: () => Date.now() };
  if (isCluster(client)) {
    connection.eachMaster = () => Promise.resolve(client.nodes('master').map(ioredisConnection));
  } else if (hasMethods<Waitable>(client, 'wait', 'on')) {
    connection.replication = replicationOf(client, ['close']);
  }
  return connection;
}

/**
 * ioredis-mock, whose TIME runs backwards and whose Lua has a dialect: see `dialect.lua`. By its
 * own fields, none of which ioredis has: a real server must never be given a client's clock.
 */
function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

function isCluster(client: object): client is IoredisCluster {
  return hasMethods(client, 'nodes', 'subscribe') && 'isCluster' in client;
}

/** Of a copy that connects once, subscribes, and ends when its connection does. */
const COPY_OPTIONS: CopyOptions = {
  lazyConnect: false,
  enableOfflineQueue: true,
  // Another copy takes its place.
  retryStrategy: () => null,
  // It leaves nothing unsaid. By itself it would wait 2 s for a server that hangs, and keep the
  // process alive meanwhile.
  disconnectTimeout: 1,
  // A copy that is closed while it connects would leave its detector's connections behind. The
  // client's own detector reports a failover.
  failoverDetector: false,
};

/**
 * What one node publishes goes to all of a cluster, so a connection to a single node is enough. The
 * cluster client would make such a connection, too, but reports neither its loss nor the loss of
 * its messages.
 */
function copierOf(client: object): (() => Subscriber) | undefined {
  if (isCluster(client)) {
    const ready = () => anyReady(client.nodes('master'), ({ status }) => status === 'ready');
    return () => ready().duplicate(COPY_OPTIONS);
  }
  const canSubscribe = hasMethods<Duplicable & Subscriber>(client, 'duplicate', 'subscribe');
  return canSubscribe ? () => client.duplicate(COPY_OPTIONS) : undefined;
}

/** A copy of a client connects by itself and can be ended at any moment. */
function open(copy: Subscriber, channel: string, events: ConnectionEvents): Close {
  const lose = (): void => events.onHealth(false);
  const unref = (): void => copy.stream?.unref?.();
  // A connection that breaks is closed; other errors leave it as it is.
  copy.on('error', () => undefined);
  for (const event of ['close', 'end']) copy.on(event, lose);
  for (const event of ['connect', 'ready']) copy.on(event, unref);
  copy.on('message', (_channel, message) => {
    if (message !== undefined) events.onMessage(message);
  });
  const confirm = (): void => events.onHealth(true);
  copy.subscribe(channel).then(unref).then(confirm, lose);
  return async () => {
    if (copy.status === 'end') return;
    // The mock keeps the listeners of a copy that is gone.
    if (isMock(copy)) await copy.unsubscribe(channel);
    const ended = new Promise((resolve) => void copy.on('end', resolve));
    copy.disconnect();
    await ended;
  };
}
