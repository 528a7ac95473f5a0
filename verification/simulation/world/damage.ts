/** Semaphores whose keys are such that every call which names one fails: of a wrong type, say. */
export class Damage {
  readonly #names = new Map<string, number>();

  /** Until `heal` has been called as often. */
  strike(name: string): void {
    this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
  }

  heal(name: string): void {
    this.#names.set(name, (this.#names.get(name) ?? 0) - 1);
  }

  /** The number of the first entry that names one, or how many entries there are. */
  firstIn(entries: readonly Entry[]): number {
    const first = entries.findIndex(({ key }) => (this.#names.get(key.name) ?? 0) > 0);
    return first < 0 ? entries.length : first;
  }
}

/** What a call says of one semaphore. */
export interface Entry {
  readonly key: { readonly name: string };
}

/** One call names one semaphore, or an entry for each of several. */
export function entriesOf<E extends Entry>(call: E | readonly E[]): readonly E[] {
  return isList(call) ? call : [call];
}

function isList<E>(call: E | readonly E[]): call is readonly E[] {
  return Array.isArray(call);
}

/** Of a whole call. What it did before it came to the damaged semaphore stays done. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';

  constructor(name: string) {
    super(`WRONGTYPE Operation against a key holding the wrong kind of value: ${name}`);
  }
}
