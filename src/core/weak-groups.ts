/**
 * Values by name, several to a name, that others keep alive. A name whose values were collected
 * takes no memory.
 */
export class WeakGroups<Value extends object> {
  readonly #groups = new Map<string, Set<WeakRef<Value>>>();

  add(name: string, value: Value): void {
    let group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, (group = new Set()));
    const ref = new WeakRef(value);
    group.add(ref);
    collected.register(value, { groups: this.#groups, name, ref });
  }

  /** The only value of a name, made where there is none. */
  one(name: string, make: () => Value): Value {
    let [value] = this.of(name);
    if (value === undefined) this.add(name, (value = make()));
    return value;
  }

  /** Those of a name that have not been collected. */
  of(name: string): Value[] {
    return [...(this.#groups.get(name) ?? [])].flatMap((ref) => ref.deref() ?? []);
  }

  /** All that have not been collected. */
  all(): Value[] {
    return [...this.#groups.keys()].flatMap((name) => this.of(name));
  }

  /** How many names; also names whose values were collected just now. */
  get size(): number {
    return this.#groups.size;
  }
}

interface Entry {
  readonly groups: Map<string, Set<WeakRef<object>>>;
  readonly name: string;
  readonly ref: WeakRef<object>;
}

// One for all, that lives as long as the process. Where a registry is itself collected between the
// collection of what it watches and its call, V8 calls no registry of the process any more,
// whoever's it is (seen with Node 20.20 and 24.21).
const collected = new FinalizationRegistry<Entry>(({ groups, name, ref }) => {
  const group = groups.get(name);
  if (group?.delete(ref) === true && group.size === 0) groups.delete(name);
});
