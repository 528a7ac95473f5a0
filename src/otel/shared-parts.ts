/** What ends. */
interface Part {
  end(): void;
}

interface Shared<Provider, P extends Part> {
  readonly provider: Provider;
  readonly part: P;
  users: number;
}

/** One part on each provider, however many want it; it ends with the last of them. */
export class SharedParts<Provider, P extends Part> {
  readonly #same: (one: Provider, other: Provider) => boolean;
  readonly #running = new Set<Shared<Provider, P>>();

  constructor(same: (one: Provider, other: Provider) => boolean) {
    this.#same = same;
  }

  /** @returns ends it for this caller; may be called twice */
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
