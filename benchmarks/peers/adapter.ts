/** Gives one permit back; false: it had been lost before. */
export type Release = () => Promise<boolean>;

/** The options of `acquire` of these names. */
export interface Wanted {
  readonly permits?: number;
  readonly group?: string;
  readonly weight?: number;
}

/** A peer with one connected client, as a process of its user would have it. */
export interface Connection {
  /**
   * Waits as long as it takes. The permit is kept alive until it is released, if the peer can do
   * that. `wanted`: what only redsem is asked for.
   */
  acquire(name: string, limit: number, ttl: number, wanted?: Wanted): Promise<Release>;
  /** One permit of a limit that each key has for itself; left out: as `acquire`. */
  acquireKey?(key: string, limit: number, ttl: number): Promise<Release>;
  /** All or none. */
  acquireKeys?(keys: readonly string[], ttl: number): Promise<Release>;
  close(): Promise<void>;
}

/** What each module beside this one exports. */
export interface Adapter {
  connect(url: string): Promise<Connection>;
}
