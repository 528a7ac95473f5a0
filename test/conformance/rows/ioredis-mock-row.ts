import type { Redis } from 'ioredis';
import RedisMock from 'ioredis-mock';

import type { Command } from '../redis-data.js';
import { RedisData } from '../redis-data.js';
import type { Place, Row } from '../row.js';

/** Mocks with one port share their data; no other mock has this one. */
const PORT = 46_379;

export function ioredisMockRow(): Row {
  return { title: 'ioredis-mock', open };
}

function open(): Promise<Place> {
  const target = new RedisMock({ port: PORT });
  const other = new RedisMock({ port: PORT });
  const data = new RedisData(mockCommand(target), target);
  return Promise.resolve({
    target,
    other,
    tickets: data,
    keys: data,
    close: async () => {
      await target.flushall();
      target.disconnect();
      other.disconnect();
    },
  });
}

/** The mock keeps sorted sets that have become empty. */
function mockCommand(client: Redis): Command {
  const plain: Command = async (name = '', ...args) => {
    const method: unknown = Reflect.get(client, name.toLowerCase());
    if (typeof method !== 'function') throw new Error(`the mock has no ${name}`);
    return (await Reflect.apply(method, client, args)) as unknown;
  };
  return async (name, ...args) => {
    const reply = await plain(name ?? '', ...args);
    return name === 'KEYS' ? withoutEmptySets(plain, reply as string[]) : reply;
  };
}

async function withoutEmptySets(command: Command, keys: readonly string[]): Promise<string[]> {
  const empty = await Promise.all(
    keys.map(
      async (key) => (await command('TYPE', key)) === 'zset' && (await command('ZCARD', key)) === 0,
    ),
  );
  return keys.filter((_, i) => empty[i] !== true);
}
