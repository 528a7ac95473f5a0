/** Semaphores with keys of a wrong type: every call that names such a semaphore fails. */
export class Damage {
  readonly #faults = new Map<string, number>();

  /** `by`: 1 with each fault that damages the semaphore, -1 with the end of each. */
  change(name: string, by: 1 | -1): void {
    this.#faults.set(name, (this.#faults.get(name) ?? 0) + by);
  }

  isAt({ key }: { readonly key: { readonly name: string } }): boolean {
    return (this.#faults.get(key.name) ?? 0) > 0;
  }
}

/** The server refuses a call, and asking again at once does not help. */
export class RefusedError extends Error {}

export function damagedError({ key }: { readonly key: { readonly name: string } }): RefusedError {
  return new RefusedError(
    `WRONGTYPE Operation against a key holding the wrong kind of value: ${key.name}`,
  );
}

export function isRetryable(error: unknown): boolean {
  return !(error instanceof RefusedError);
}
