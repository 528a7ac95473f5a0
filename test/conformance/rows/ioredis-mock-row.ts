import type { Redis } from 'ioredis';
import RedisMock from 'ioredis-mock';

import { type Command, redisData } from './redis-row.js';
import type { Row } from '../row.js';

/** Mocks with one port share their data; no other mock has this one. */
const PORT = 46_379;

export function ioredisMockRow(): Row {
  return {
    title: 'ioredis-mock',
    lacks: {
      listing: 'its SCAN takes patterns in another way',
      'server errors': 'it replaces the text of what failed inside a script by its own',
      server: 'it has no server process',
    },
    open: () => {
      const [target, other] = [new RedisMock({ port: PORT }), new RedisMock({ port: PORT })];
      const close = async (): Promise<void> => {
        await target.flushall();
        target.disconnect();
        other.disconnect();
      };
      return Promise.resolve({ target, other, ...redisData(mockCommand(target), target), close });
    },
  };
}

function mockCommand(client: Redis): Command {
  const run: Command = async (name = '', ...args) => {
    const method: unknown = Reflect.get(client, name.toLowerCase());
    if (typeof method !== 'function') throw new Error(`the mock has no ${name}`);
    return (await Reflect.apply(method, client, args)) as unknown;
  };
  // The mock keeps sorted sets that have become empty.
  const isEmpty = async (key: string): Promise<boolean> =>
    (await run('TYPE', key)) === 'zset' && (await run('ZCARD', key)) === 0;
  return async (...args) => {
    const reply = await run(...args);
    if (args[0] !== 'KEYS') return reply;
    const keys = reply as string[];
    const empty = await Promise.all(keys.map(isEmpty));
    return keys.filter((_, i) => empty[i] !== true);
  };
}
