import type { Cluster, Redis } from 'ioredis';
import type { ClientAdapter, Pending } from '../server.js';
import { assertInterface, reconnectDelay } from '../server.js';
import { CONNECT_TIME } from '../with-timeout.js';

/** Versions 5 and 6; a type alone: the package need not be installed. */
interface Ioredis {
  readonly Redis: typeof Redis;
  readonly Cluster: typeof Cluster;
}

export function ioredisAdapter(ioredis: unknown): ClientAdapter {
  assertInterface<Ioredis>('ioredis', ioredis, ['Redis', 'Cluster']);
  return (pending) => {
    const { cluster, addresses } = pending.settings;
    const nodes = addresses.map(({ host, port, path }) =>
      path === undefined ? { host, port } : { path },
    );
    const client = cluster
      ? new ioredis.Cluster(nodes, clusterOptions(pending))
      : new ioredis.Redis({ ...nodes[0], ...clientOptions(pending) });
    client.on('error', (error) => {
      pending.onError(error);
      // It would work in database 0 instead: try again with a new connection.
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

/** The client's `connect` succeeds also where the server refuses what comes with it. */
async function connectOne(
  client: Pick<Redis, 'connect' | 'ping' | 'select'>,
  pending: Pending,
): Promise<void> {
  const [{ database }] = pending.settings.addresses;
  await client.connect();
  if (database !== 0) await client.select(database);
  else {
    await client.ping().catch((error: unknown) => {
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

function clientOptions(pending: Pending): object {
  const { settings } = pending;
  const [{ username, password, database }] = settings.addresses;
  return {
    username,
    password,
    db: database,
    tls: settings.tls,
    lazyConnect: true,
    connectTimeout: CONNECT_TIME,
    // It would use INFO, which a user with few rights may not; a server that loads is tried again
    // anyway.
    enableReadyCheck: false,
    retryStrategy: pauseOf(pending),
  };
}

function clusterOptions(pending: Pending): object {
  return {
    redisOptions: clientOptions(pending),
    lazyConnect: true,
    clusterRetryStrategy: pauseOf(pending),
  };
}

/** The pause before a client connects again; null before it was connected: it gives up. */
function pauseOf({ ready }: Pending) {
  return (attempt: number) => (ready() ? reconnectDelay(attempt) : null);
}
