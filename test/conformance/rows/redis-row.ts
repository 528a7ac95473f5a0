import type { Backend } from '../../../src/index.js';
import { backendOf } from '../../../src/clients.js';
import type { OpenClient } from '../../support/open-client.js';
import { TestServer } from '../../support/redis-server.js';
import type { KeyView, Lacks, Row, Target, TicketTampering } from '../row.js';

interface Limits {
  readonly lacks?: Lacks;
  /** The client puts it before each key. */
  readonly keyPrefix?: string;
}

export const SEVERAL_SERVERS: Lacks = {
  server: 'it has several, whose failures are cases of verification/topologies',
};

/**
 * A row on one server, or on several that are reached as one: `connect` is called twice, for two
 * clients that know nothing of each other.
 */
export function redisRow(
  title: string,
  redis: () => TestServer | { readonly command: Command },
  connect: () => Promise<OpenClient>,
  { lacks = {}, keyPrefix = '' }: Limits = {},
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
        keyPrefix,
        ...(servers instanceof TestServer ? { server: servers } : {}),
        close: async () => {
          await one.close();
          await two.close();
        },
      };
    },
  };
}

export type Command = (...args: string[]) => Promise<unknown>;

/**
 * By the backend's own calls, whatever its data look like. With a limit of 0 no waiter gets a
 * permit that this frees.
 */
export function tamperingBy(backend: Backend): TicketTampering {
  const call = { limit: 0, client: 'tampering' };
  return {
    remove: async (key, id) => void (await backend.release([{ ...call, key, ids: [id] }])),
    age: async (key, id, left) =>
      void (await backend.extend([{ ...call, key, ttl: left, ids: [id] }])),
  };
}

/**
 * The keys of semaphores, read with plain commands; the names of the keys are the contract's.
 */
export function redisData(
  command: Command,
  target: Target,
  keyPrefix = '',
): { tickets: TicketTampering; keys: KeyView } {
  const tickets = tamperingBy(backendOf(target));
  /** Without tickets, `tickets` stays for a day, with a sign that is none. */
  const isIdle = async (key: string): Promise<boolean> =>
    key.endsWith(':tickets') &&
    (await command('TYPE', key)) === 'zset' &&
    String(await command('ZRANGE', key, '0', '-1')) === '.';
  const keys: KeyView = async (start) => {
    const all = (await command('KEYS', `${keyPrefix}${start}*`)) as string[];
    const idle = await Promise.all(all.map(isIdle));
    const found = all.filter((_, i) => idle[i] === false);
    const lives = await Promise.all(found.map((key) => command('PTTL', key)));
    return new Map(found.map((key, i) => [key, Number(lives[i])]));
  };
  return { tickets, keys };
}
