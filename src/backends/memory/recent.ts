import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';

interface Entry<Value> extends Named {
  readonly value: Value;
  readonly until: number;
}

/**
 * What a call that runs twice must know, by id, until it no longer counts; as `remember.lua` has
 * it.
 */
export class Recent<Value> {
  /** Made when it is needed: most semaphores need none. */
  #entries: HeapById<Entry<Value>> | undefined;
  #emptyAt = -Infinity;

  /** From when on nothing in it counts. */
  get emptyAt(): number {
    return this.#emptyAt;
  }

  /** Forgets what no longer counts. */
  remember(id: string, value: Value, until: number, now: number): void {
    this.#entries ??= new HeapById((entry) => entry.until);
    let { lowest } = this.#entries;
    while (lowest !== undefined && lowest.until <= now) {
      this.#entries.remove(lowest.id);
      ({ lowest } = this.#entries);
    }
    this.#emptyAt = Math.max(this.#emptyAt, until);
    this.#entries.remove(id);
    this.#entries.add({ id, value, until, place: 0 });
  }

  get(id: string, now: number): Value | undefined {
    const entry = this.#entries?.get(id);
    return entry !== undefined && entry.until > now ? entry.value : undefined;
  }
}
