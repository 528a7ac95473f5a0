import type { RedisTarget } from '../../index.js';
import type { ServerSettings } from '../common-options.js';
import type { ClientAdapter, Pending, ScanReply, Server } from '../server.js';
import { reconnectDelay, SCAN_COUNT, scanPages } from '../server.js';
import { UnavailableError } from '../failure.js';
import { CONNECT_TIME } from '../patience.js';

/** What is used of the package `redis` (4, 5, 6), by shape: nothing here may need it at compile time. */
interface NodeRedis {
  createClient(options: object): Client;
  createCluster(options: object): Cluster;
}

interface Connectable {
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  hmGet(key: string, fields: string[]): Promise<(string | null)[]>;
  /** From version 5 on. */
  destroy?(): void;
  /** Until version 4; deprecated later. */
  disconnect?(): Promise<void>;
}

type Client = Connectable & RedisTarget & Commands;

/** Only SCAN is sent by it, for the method of that name differs from version to version. */
interface Commands {
  sendCommand(args: string[]): Promise<ScanReply>;
}

type Cluster = Connectable &
  RedisTarget & {
    readonly masters: readonly object[];
    nodeClient(node: object): Commands | Promise<Commands>;
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

function serverOf(made: Client | Cluster): Server {
  return {
    target: made,
    keys: (pattern) => keys(made, pattern),
    fields: (key, names) => made.hmGet(key, [...names]),
    disconnect: () => {
      if (made.destroy !== undefined) made.destroy();
      else made.disconnect?.().catch(() => undefined);
    },
  };
}

async function* keys(made: Client | Cluster, pattern: string): AsyncGenerator<string[]> {
  for (const node of await nodesOf(made)) {
    yield* scanPages((cursor) =>
      node.sendCommand(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(SCAN_COUNT)]),
    );
  }
}

async function nodesOf(made: Client | Cluster): Promise<Commands[]> {
  if (!('masters' in made)) return [made];
  return Promise.all(made.masters.map(async (master) => made.nodeClient(master)));
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
    // Of the nodes that the cluster tells, too.
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
