/**
 * Values by name, several to a name, that others keep alive. A name whose values were collected
 * takes no memory.
 */
export class WeakGroups<Value extends object> {
  readonly #groups = new Map<string, Set<WeakRef<Value>>>();

  add(name: string, value: Value): void {
    const ref = new WeakRef(value);
    const group = (this.#groups.get(name) ?? new Set()).add(ref);
    this.#groups.set(name, group);
    collected.register(value, () => {
      if (group.delete(ref) && group.size === 0) this.#groups.delete(name);
    });
  }

  /** The only value of a name, made where there is none. */
  one(name: string, make: () => Value): Value {
    let [value] = this.of(name);
    if (value === undefined) this.add(name, (value = make()));
    return value;
  }

  /** The values of a name that have not been collected. */
  of(name: string): Value[] {
    return [...(this.#groups.get(name) ?? [])].flatMap((ref) => ref.deref() ?? []);
  }

  /** All values that have not been collected. */
  all(): Value[] {
    return [...this.#groups.keys()].flatMap((name) => this.of(name));
  }

  /** How many names; also names whose values were collected just now. */
  get size(): number {
    return this.#groups.size;
  }
}

// One registry for all groups, that lives as long as the process. Where a registry is itself
// collected between the collection of a value and its call, V8 calls no registry of the process any
// more (seen with Node 20.20 and 24.21).
const collected = new FinalizationRegistry<() => void>((forget) => forget());
