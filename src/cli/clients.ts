import type * as Ioredis from 'ioredis';
import type { RedisTarget } from '../index.js';
import { EXIT, Failure } from './failure.js';
import type { ClientPackage, ServerAddress, ServerSettings } from './server-options.js';
import { CONNECT_TIME } from './with-timeout.js';

/** A connected client. */
export interface Server {
  /** The target of a `Semaphore`. */
  readonly target: RedisTarget;
  /** Whether the client has a connection now, as far as the client shows it. */
  connected(): boolean;
  /** Ends all connections at once; never throws. */
  disconnect(): void;
}

/** The arguments for a new client. */
export interface Pending {
  readonly settings: ServerSettings;
  /** Whether the client was connected before: from then on it reconnects by itself. */
  readonly ready: () => boolean;
  /** Called with every error, because a failed `connect` does not always name the cause. */
  readonly onError: (error: unknown) => void;
}

/** Makes a client of a package without connecting it. */
export type ClientAdapter = (pending: Pending) => Server & { connect(): Promise<unknown> };

/** Pause before the next attempt to reconnect, in milliseconds. */
function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), 2000);
}

/** @throws {Failure} if the package lacks one of the functions */
function assertInterface<T>(
  name: ClientPackage,
  client: unknown,
  functions: readonly (keyof T)[],
): asserts client is T {
  if (functions.every((each) => typeof Reflect.get(Object(client), each) === 'function')) return;
  throw new Failure(EXIT.unavailable, `the package ${name} has another interface`);
}

/** For versions 5 and 6. */
export function ioredisAdapter(ioredis: unknown): ClientAdapter {
  assertInterface<typeof Ioredis>('ioredis', ioredis, ['Redis', 'Cluster']);
  return (pending) => {
    const { cluster, addresses } = pending.settings;
    const nodes = addresses.map(endpointOf);
    const client = cluster
      ? new ioredis.Cluster(nodes, ioredisClusterOptions(pending))
      : new ioredis.Redis({ ...nodes[0], ...ioredisOptions(pending) });
    client.on('error', (error) => {
      pending.onError(error);
      // The client would work in database 0 instead. A new connection tries again.
      if (isRefusedSelect(error)) client.disconnect(true);
    });
    return {
      target: client,
      connected: () => client.status === 'ready',
      disconnect: () => client.disconnect(),
      connect: () => (cluster ? client.connect() : connectOne(client, pending)),
    };
  };
}

/** The client's `connect` succeeds even if the server refuses the login or the database. */
async function connectOne(
  client: Pick<Ioredis.Redis, 'connect' | 'ping' | 'select'>,
  { settings: { addresses } }: Pending,
): Promise<void> {
  const [{ database }] = addresses;
  await client.connect();
  if (database !== 0) return void (await client.select(database));
  await client.ping().catch((error: unknown) => {
    // A user without the right to PING and a server that loads are no errors. A closed connection
    // is an error: the error event has the cause.
    const isReply = error instanceof Error && /^[A-Z]+ /.test(error.message);
    if (!isReply || /^(?:NOAUTH|WRONGPASS)/.test(error.message)) throw error;
  });
}

function isRefusedSelect(error: unknown): boolean {
  return Reflect.get(Object(Reflect.get(Object(error), 'command')), 'name') === 'select';
}

function ioredisOptions({ settings, ready }: Pending) {
  const [{ username, password, database }] = settings.addresses;
  return {
    username,
    password,
    db: database,
    tls: settings.tls,
    lazyConnect: true,
    connectTimeout: CONNECT_TIME,
    // The check would call INFO, for which a user may lack the right. Calls to a server that loads
    // are tried again anyway.
    enableReadyCheck: false,
    // Before the first connection: null, so the client gives up.
    retryStrategy: (attempt: number) => (ready() ? reconnectDelay(attempt) : null),
  };
}

function ioredisClusterOptions(pending: Pending): object {
  const redisOptions = ioredisOptions(pending);
  return { redisOptions, lazyConnect: true, clusterRetryStrategy: redisOptions.retryStrategy };
}

/** The used functions of the package `redis`: the types of its versions 4, 5 and 6 differ. */
interface NodeRedis {
  createClient(options: object): Client;
  createCluster(options: object): Client;
}

type Client = RedisTarget & {
  /** Only of a single server: the client of a cluster does not show it. */
  readonly isReady?: boolean;
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** From version 5 on. */
  destroy?(): void;
  /** Until version 4; deprecated later. */
  disconnect?(): Promise<void>;
};

export function nodeRedisAdapter(redis: unknown): ClientAdapter {
  assertInterface<NodeRedis>('redis', redis, ['createClient', 'createCluster']);
  return (pending) => {
    const client = nodeRedisClient(redis, pending);
    client.on('error', pending.onError);
    return {
      target: client,
      connected: () => client.isReady ?? true,
      disconnect: () => {
        if (client.destroy !== undefined) client.destroy();
        else client.disconnect?.().catch(() => undefined);
      },
      connect: () => client.connect(),
    };
  };
}

function nodeRedisClient(redis: NodeRedis, { settings, ready }: Pending): Client {
  const { cluster, addresses, tls } = settings;
  const [{ username, password, database }] = addresses;
  const socket = {
    ...(tls !== undefined && { tls: true, ...tls }),
    connectTimeout: CONNECT_TIME,
    reconnectStrategy: (attempt: number, cause: Error) =>
      ready() ? reconnectDelay(attempt) : cause,
  };
  if (cluster) {
    const rootNodes = addresses.map((address) => ({ socket: endpointOf(address) }));
    // The defaults also apply to the nodes that the cluster names.
    return redis.createCluster({ rootNodes, defaults: { socket, username, password } });
  }
  return redis.createClient({
    socket: { ...endpointOf(addresses[0]), ...socket },
    username,
    password,
    database,
  });
}

function endpointOf({ host, port, path }: ServerAddress) {
  return path === undefined ? { host, port } : { path };
}
