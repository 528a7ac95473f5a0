import type { RedisTarget } from '../../index.js';
import type { ServerSettings } from '../common-options.js';
import type { ClientAdapter, Pending } from '../server.js';
import { assertInterface, reconnectDelay } from '../server.js';
import { CONNECT_TIME } from '../with-timeout.js';

/**
 * The used part of the package `redis`, by shape: the types of its versions 4, 5 and 6 differ.
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

export function nodeRedisAdapter(redis: unknown): ClientAdapter {
  assertInterface<NodeRedis>('redis', redis, ['createClient', 'createCluster']);
  return (pending) => {
    const client = pending.settings.cluster
      ? redis.createCluster(clusterOptions(pending))
      : redis.createClient(clientOptions(pending));
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
