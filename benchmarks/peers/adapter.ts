/** Gives one permit back; false: it had been lost before. */
export type Release = () => Promise<boolean>;

/** The options of `acquire` of these names. */
export interface Wanted {
  readonly permits?: number;
  readonly group?: string;
  readonly weight?: number;
}

/** A peer with a connected client, as in a user's process. */
export interface Connection {
  /**
   * Waits as long as it takes. The permit is kept alive until its release, if the peer supports
   * that. `wanted`: options that only redsem gets.
   */
  acquire(name: string, limit: number, ttl: number, wanted?: Wanted): Promise<Release>;
  /** Acquires a permit of a key's separate limit; left out: as `acquire`. */
  acquireKey?(key: string, limit: number, ttl: number): Promise<Release>;
  /** Acquires a permit of each key, all or none. */
  acquireKeys?(keys: readonly string[], ttl: number): Promise<Release>;
  /** Acquires a permit of a group with a cap, at the cost of two budgets; the release settles. */
  acquireUnderRules?(name: string, limit: number, ttl: number): Promise<Release>;
  close(): Promise<void>;
}

/** The exports of each module beside this one. */
export interface Adapter {
  connect(url: string): Promise<Connection>;
}
