import type { SemaphoreKey } from './backend.js';

/** The key in a Map: no two semaphores have the same, and all of one prefix begin as its ''. */
export function mapKeyOf(key: SemaphoreKey): string {
  let text = known.get(key);
  if (text === undefined) known.set(key, (text = `${key.prefix.length} ${key.prefix}${key.name}`));
  return text;
}

const known = new WeakMap<SemaphoreKey, string>();
