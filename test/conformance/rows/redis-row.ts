import type { RedisTarget } from '../../../src/index.js';
import { TestServer } from '../../support/redis-server.js';
import { type Command, redisData } from '../redis-data.js';
import type { Lacks, Row } from '../row.js';

export interface Connected {
  readonly target: RedisTarget;
  readonly close: () => unknown;
}

/** What the clients of both libraries have, whatever their version. */
interface Client {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  disconnect?(): unknown;
  destroy?(): unknown;
}

interface Limits {
  readonly lacks?: Lacks;
  /** What the client puts before each key. */
  readonly keyPrefix?: string;
}

export const SEVERAL_SERVERS: Lacks = {
  server: 'it has several, whose failures are cases of verification/topologies',
};

/** A row on one server, or on several that are reached as one: `connect` is called twice, for two clients that know nothing of each other. */
export function redisRow(
  title: string,
  redis: () => TestServer | { readonly command: Command },
  connect: () => Promise<Connected>,
  { lacks = {}, keyPrefix }: Limits = {},
): Row {
  return {
    title,
    lacks,
    open: async () => {
      const [one, two] = [await connect(), await connect()];
      const servers = redis();
      return {
        target: one.target,
        other: two.target,
        ...redisData((...args) => servers.command(...args), one.target, keyPrefix),
        ...(servers instanceof TestServer ? { server: servers } : {}),
        close: async () => {
          await one.close();
          await two.close();
        },
      };
    },
  };
}

export async function connected(client: Client & RedisTarget): Promise<Connected> {
  // Errors of a connection that the tests cut are expected: they look only at calls that fail.
  client.on('error', () => {});
  await client.connect();
  return {
    target: client,
    close: () => (client.destroy === undefined ? client.disconnect?.() : client.destroy()),
  };
}
