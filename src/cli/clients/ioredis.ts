import type { RedisTarget } from '../../index.js';
import { UnavailableError } from '../failure.js';
import { CONNECT_TIME } from '../with-timeout.js';
import type { ClientAdapter, Pending, Server } from '../server.js';
import { reconnectDelay } from '../server.js';

/**
 * What is used of the package `ioredis` (5, 6), by shape: nothing here may need it at compile time.
 */
interface Ioredis {
  readonly Redis: new (options: object) => Client;
  readonly Cluster: new (nodes: object[], options: object) => Client;
}

type Client = RedisTarget & {
  readonly status: string;
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  ping(): Promise<unknown>;
  select(database: number): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
};

export function ioredisAdapter(client: unknown): ClientAdapter {
  if (!isIoredis(client)) throw new UnavailableError('the package ioredis has another interface');
  return {
    create: (pending) => {
      const { cluster, addresses } = pending.settings;
      const [{ host, port, path }] = addresses;
      const address = path === undefined ? { host, port } : { path };
      const made = cluster
        ? new client.Cluster(nodesOf(pending), clusterOptions(pending))
        : new client.Redis({ ...address, ...clientOptions(pending) });
      made.on('error', (error) => {
        pending.onError(error);
        // It would work in database 0 instead: try again with a new connection.
        if (isRefusedSelect(error)) made.disconnect(true);
      });
      const connect = cluster ? () => made.connect() : () => connectOne(made, pending);
      return { server: serverOf(made), connect };
    },
  };
}

function isIoredis(client: unknown): client is Ioredis {
  return ['Redis', 'Cluster'].every(
    (name) => typeof Reflect.get(Object(client), name) === 'function',
  );
}

/** Its `connect` succeeds also where the server refuses what comes with it. */
async function connectOne(made: Client, { settings }: Pending): Promise<void> {
  const [{ database }] = settings.addresses;
  await made.connect();
  if (database !== 0) await made.select(database);
  else {
    await made.ping().catch((error: unknown) => {
      // A user without the right to PING, a server that loads: no hindrance. A connection that is
      // closed is: the error event says why.
      const isReply = error instanceof Error && /^[A-Z]+ /.test(error.message);
      if (!isReply || /^(?:NOAUTH|WRONGPASS)/.test(error.message)) throw error;
    });
  }
}

function isRefusedSelect(error: unknown): boolean {
  return Reflect.get(Object(Reflect.get(Object(error), 'command')), 'name') === 'select';
}

function serverOf(made: Client): Server {
  return {
    target: made,
    connected: () => made.status === 'ready',
    disconnect: () => made.disconnect(),
  };
}

function nodesOf({ settings: { addresses } }: Pending): object[] {
  return addresses.map(({ host, port }) => ({ host, port }));
}

function clientOptions(pending: Pending): object {
  const { settings, ready } = pending;
  const [{ username, password, database }] = settings.addresses;
  return {
    username,
    password,
    db: database,
    ...(settings.tls !== undefined && { tls: settings.tls }),
    lazyConnect: true,
    connectTimeout: CONNECT_TIME,
    // It would use INFO, which a user with few rights may not; a server that loads is tried again
    // anyway.
    enableReadyCheck: false,
    retryStrategy: (attempt: number) => (ready() ? reconnectDelay(attempt) : null),
  };
}

function clusterOptions(pending: Pending): object {
  const { ready } = pending;
  return {
    redisOptions: clientOptions(pending),
    lazyConnect: true,
    clusterRetryStrategy: (attempt: number) => (ready() ? reconnectDelay(attempt) : null),
  };
}
