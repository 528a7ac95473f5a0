import type { Backend } from '../../src/backend.js';
import { backendOf } from '../../src/targets.js';
import type { KeyView, Target, TicketTampering } from './row.js';

export type Command = (...args: string[]) => Promise<unknown>;

/** By the backend's own calls, which works whatever its data look like. With a limit of 0 nobody is granted what this frees. */
export function tamperingBy(backend: Backend): TicketTampering {
  const call = { limit: 0, client: 'tampering' };
  return {
    remove: async (key, id) => void (await backend.release({ ...call, key, ids: [id] })),
    age: async (key, id, left) =>
      void (await backend.extend({ ...call, key, ttl: left, ids: [id] })),
  };
}

/**
 * The keys of semaphores, read and changed with plain commands; the names of the keys are the contract's.
 * `keyPrefix`: what the row's own client puts before each key.
 */
export function redisData(
  command: Command,
  target: Target,
  keyPrefix = '',
): { tickets: TicketTampering; keys: KeyView } {
  const tickets: TicketTampering = {
    ...tamperingBy(backendOf(target)),
    remove: async ({ prefix, name }, id) => {
      await command('ZREM', `${keyPrefix}${prefix}:{${name}}:tickets`, id);
    },
  };
  const keys: KeyView = {
    list: async (start) => {
      const found = (await command('KEYS', `${keyPrefix}${start}*`)) as string[];
      const lives = await Promise.all(found.map((key) => command('PTTL', key)));
      return new Map(found.map((key, i) => [key, Number(lives[i])]));
    },
    delete: async (...names) => void (await command('DEL', ...names.map((key) => keyPrefix + key))),
    setString: async (key, value) => void (await command('SET', keyPrefix + key, value)),
  };
  return { tickets, keys };
}
