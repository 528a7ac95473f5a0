import type { SemaphoreKey } from './backend.js';

/** The key in a Map: no two semaphores have the same, and all of one prefix begin as its ''. */
export function mapKeyOf({ prefix, name }: SemaphoreKey): string {
  return `${prefix.length} ${prefix}${name}`;
}
