import type { Named } from './heap-by-id.js';
import { HeapById } from './heap-by-id.js';

interface Entry<Value> extends Named {
  readonly value: Value;
  readonly until: number;
}

/** What a call that runs twice must know, by id, until it no longer counts; as `remember.lua` has it. */
export class Recent<Value> {
  /** Made when it is needed: most semaphores need none. */
  #entries: HeapById<Entry<Value>> | undefined;

  /** Forgets what no longer counts. */
  remember(id: string, value: Value, until: number, now: number): void {
    this.#forget(now);
    this.#entries ??= new HeapById((entry) => entry.until);
    this.#entries.remove(id);
    this.#entries.add({ id, value, until, place: 0 });
  }

  get(id: string, now: number): Value | undefined {
    const entry = this.#entries?.get(id);
    return entry !== undefined && entry.until > now ? entry.value : undefined;
  }

  /** Whether nothing in it counts any more. */
  isEmptyAt(now: number): boolean {
    this.#forget(now);
    return this.#entries === undefined;
  }

  #forget(now: number): void {
    const entries = this.#entries;
    if (entries === undefined) return;
    let { lowest } = entries;
    while (lowest !== undefined && lowest.until <= now) {
      entries.remove(lowest.id);
      ({ lowest } = entries);
    }
    if (lowest === undefined) this.#entries = undefined;
  }
}
