import type { RedisTarget } from '../../index.js';
import type { ServerSettings } from '../common-options.js';
import type { ClientAdapter, Pending, Server } from '../server.js';
import { reconnectDelay } from '../server.js';
import { UnavailableError } from '../failure.js';
import { CONNECT_TIME } from '../with-timeout.js';

/**
 * What is used of the package `redis` (4, 5, 6), by shape: nothing here may need it at compile
 * time.
 */
interface NodeRedis {
  createClient(options: object): Client;
  createCluster(options: object): Client;
}

type Client = RedisTarget & {
  /** Of one server only: a cluster does not say. */
  readonly isReady?: boolean;
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** From version 5 on. */
  destroy?(): void;
  /** Until version 4; deprecated later. */
  disconnect?(): Promise<void>;
};

export function nodeRedisAdapter(client: unknown): ClientAdapter {
  if (!isNodeRedis(client)) throw new UnavailableError('the package redis has another interface');
  return {
    create: (pending) => {
      const { settings } = pending;
      const made = settings.cluster
        ? client.createCluster(clusterOptions(pending))
        : client.createClient(clientOptions(pending));
      made.on('error', pending.onError);
      return { server: serverOf(made), connect: () => made.connect() };
    },
  };
}

function isNodeRedis(client: unknown): client is NodeRedis {
  return ['createClient', 'createCluster'].every(
    (name) => typeof Reflect.get(Object(client), name) === 'function',
  );
}

function serverOf(made: Client): Server {
  return {
    target: made,
    connected: () => made.isReady ?? true,
    disconnect: () => {
      if (made.destroy !== undefined) made.destroy();
      else made.disconnect?.().catch(() => undefined);
    },
  };
}

function clientOptions(pending: Pending): object {
  const [{ host, port, path, database }] = pending.settings.addresses;
  const address = path === undefined ? { host, port } : { path };
  return {
    socket: { ...address, ...socketOptions(pending) },
    ...loginOf(pending.settings),
    database,
  };
}

function clusterOptions(pending: Pending): object {
  const { addresses } = pending.settings;
  const socket = socketOptions(pending);
  return {
    rootNodes: addresses.map(({ host, port }) => ({ socket: { host, port } })),
    // Also for the nodes that the cluster names.
    defaults: { socket, ...loginOf(pending.settings) },
  };
}

function socketOptions({ settings: { tls }, ready }: Pending): object {
  return {
    ...(tls !== undefined && { tls: true, ...tls }),
    connectTimeout: CONNECT_TIME,
    reconnectStrategy: (attempt: number, cause: Error) =>
      ready() ? reconnectDelay(attempt) : cause,
  };
}

function loginOf({ addresses: [{ username, password }] }: ServerSettings): object {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}
