import type { OpenClient } from '../../support/open-client.js';
import { TestServer } from '../../support/redis-server.js';
import type { KeyView, Lacks, Row } from '../row.js';

export const SEVERAL_SERVERS: Lacks = {
  server: 'it has several, whose failures are cases of verification/topologies',
};

/**
 * A row on one server, or on several that are reached as one: `connect` is called twice, for two
 * clients that know nothing of each other. The clients put `keyPrefix` before each key.
 */
export function redisRow(
  title: string,
  redis: () => TestServer | { readonly command: Command },
  connect: () => Promise<OpenClient>,
  lacks: Lacks = {},
  keyPrefix = '',
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
        keys: keyView((...args) => servers.command(...args), keyPrefix),
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
 * The keys of semaphores, read with plain commands; the names of the keys are the contract's.
 */
export function keyView(command: Command, keyPrefix = ''): KeyView {
  // Without tickets, `tickets` stays for a day with a sign. The mock keeps empty sorted sets.
  const isIdle = async (key: string): Promise<boolean> =>
    (await command('TYPE', key)) === 'zset' &&
    ['.', ''].includes(String(await command('ZRANGE', key, '0', '-1')));
  return async (start) => {
    const lives = new Map<string, number>();
    for (const key of (await command('KEYS', `${keyPrefix}${start}*`)) as string[]) {
      if (!(await isIdle(key))) lives.set(key, Number(await command('PTTL', key)));
    }
    return lives;
  };
}
