/** A part that can be ended. */
interface Part {
  end(): void;
}

interface Shared<Provider, P extends Part> {
  readonly provider: Provider;
  readonly part: P;
  users: number;
}

/**
 * Makes a single part for each provider, however many callers want it. The part ends with its last
 * caller.
 */
export class SharedParts<Provider, P extends Part> {
  readonly #same: (one: Provider, other: Provider) => boolean;
  readonly #running = new Set<Shared<Provider, P>>();

  constructor(same: (one: Provider, other: Provider) => boolean) {
    this.#same = same;
  }

  /** @returns a function that ends the part for this caller; it may be called twice */
  share(provider: Provider, make: () => P): () => void {
    const shared = this.#find(provider) ?? { provider, part: make(), users: 0 };
    this.#running.add(shared);
    shared.users += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      shared.users -= 1;
      if (shared.users > 0) return;
      this.#running.delete(shared);
      shared.part.end();
    };
  }

  #find(provider: Provider): Shared<Provider, P> | undefined {
    for (const shared of this.#running) {
      if (this.#same(shared.provider, provider)) return shared;
    }
    return undefined;
  }
}
