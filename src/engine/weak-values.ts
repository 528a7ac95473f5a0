/** Values by name that others keep alive. A name whose value was collected takes no memory. */
export class WeakValues<Value extends object> {
  readonly #refs = new Map<string, WeakRef<Value>>();

  get(name: string): Value | undefined {
    return this.#refs.get(name)?.deref();
  }

  set(name: string, value: Value): void {
    this.#refs.set(name, new WeakRef(value));
    collected.register(value, { refs: this.#refs, name });
  }

  /** Names; also of what was collected just now. */
  get size(): number {
    return this.#refs.size;
  }

  /** Those that have not been collected. */
  *values(): Generator<Value> {
    for (const ref of this.#refs.values()) {
      const value = ref.deref();
      if (value !== undefined) yield value;
    }
  }
}

interface Place {
  readonly refs: Map<string, WeakRef<object>>;
  readonly name: string;
}

// One for all, that lives as long as the process. Where a registry is itself collected between the collection of what it
// watches and its call, V8 calls no registry of the process any more, whoever's it is (seen with Node 20.20 and 24.21).
const collected = new FinalizationRegistry<Place>(({ refs, name }) => {
  if (refs.get(name)?.deref() === undefined) refs.delete(name);
});
