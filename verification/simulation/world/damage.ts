/** Semaphores with keys of a wrong type, say: every call that names one fails. */
export class Damage {
  readonly #names = new Map<string, number>();

  /** Until `heal` has been called as often. */
  strike(name: string): void {
    this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
  }

  heal(name: string): void {
    this.#names.set(name, (this.#names.get(name) ?? 0) - 1);
  }

  /**
   * The index of the first entry that names a damaged semaphore; without one the number of entries.
   */
  firstIn(entries: readonly Entry[]): number {
    const first = entries.findIndex(({ key }) => (this.#names.get(key.name) ?? 0) > 0);
    return first < 0 ? entries.length : first;
  }
}

/** The part of a call for one semaphore. */
export interface Entry {
  readonly key: { readonly name: string };
}

/** A call has one entry, or one for each of several semaphores. */
export function entriesOf<E extends Entry>(call: E | readonly E[]): readonly E[] {
  return isList(call) ? call : [call];
}

function isList<E>(call: E | readonly E[]): call is readonly E[] {
  return Array.isArray(call);
}

/** The error of a whole call: its entries before the damaged semaphore stay done. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';

  constructor(name: string) {
    super(`WRONGTYPE Operation against a key holding the wrong kind of value: ${name}`);
  }
}
