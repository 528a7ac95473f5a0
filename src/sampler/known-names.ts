import type { CallSource } from './call-source.js';

/** How often all names are listed, in milliseconds: a SCAN goes through the whole database. */
const SCAN_EVERY_MS = 10_000;

/** Pages of a SCAN in one look. */
const PAGES_AT_ONCE = 3;

/** Most names that are remembered. */
const MOST_NAMES = 10_000;

/** The names of the semaphores, found page by page. */
export class KnownNames {
  readonly #source: CallSource;
  readonly #names = new Set<string>();
  /** The cursor of the scan under way; undefined: none is. */
  #cursor: string | undefined = '';
  #endedAt = -Infinity;

  constructor(source: CallSource) {
    this.#source = source;
  }

  get all(): ReadonlySet<string> {
    return this.#names;
  }

  add(name: string): void {
    if (this.#names.size < MOST_NAMES) this.#names.add(name);
  }

  delete(name: string): void {
    this.#names.delete(name);
  }

  /** Reads more pages, or none if the last scan has just ended. */
  async findMore(now: number): Promise<void> {
    if (this.#cursor === undefined && now - this.#endedAt < SCAN_EVERY_MS) return;
    for (let pages = 0; pages < PAGES_AT_ONCE; pages += 1) {
      const page = await this.#source.names(this.#cursor ?? '');
      for (const name of page?.names ?? []) this.add(name);
      this.#cursor = page?.cursor === '' ? undefined : page?.cursor;
      if (this.#cursor === undefined) break;
    }
    if (this.#cursor === undefined) this.#endedAt = now;
  }
}
