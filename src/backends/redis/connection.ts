/**
 * The port under the Redis backend: two methods that any Redis client can offer. An object with
 * these two methods may be passed wherever a client is expected.
 */
export interface RedisConnection {
  /**
   * Runs a cached script by its SHA1. Rejects with a message that starts with `NOSCRIPT` when the
   * server does not know it.
   */
  runBySha(sha1: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Runs a script by its text, which also caches it. */
  runByText(text: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * True when the client was never connected or was closed for good by its owner: retrying cannot
   * help.
   */
  isClosed?(): boolean;
  /**
   * Remembers the connection as it is now and gives a function that returns how many replicas have
   * acknowledged what was written on it since, waiting for `count` of them at most `timeout`
   * milliseconds; 0 when it was interrupted. Left out where calls may go over several connections.
   */
  replication?(): (count: number, timeout: number) => Promise<number>;
  /**
   * Opens a subscription on a separate connection. Left out where a client cannot subscribe:
   * waiting is then by polling alone.
   */
  subscribe?(channel: string, events: SubscriptionEvents): Subscription;
  /**
   * Of a cluster alone: a connection to each master. Keys of different hash tags are on different
   * ones, so a call that names several semaphores is made only where this is left out.
   */
  eachMaster?(): Promise<readonly RedisConnection[]>;
  /**
   * Replaces the server's clock, in milliseconds since the epoch. Only for ioredis-mock, whose TIME
   * runs backwards; a real server's own TIME is always used.
   */
  readonly serverClock?: (() => number) | undefined;
}

/** What a subscription reports, neither before `subscribe` has returned nor after `close`. */
export interface SubscriptionEvents {
  /** A message on its channel. */
  onMessage(message: string): void;
  /**
   * `true` at each (re)subscription that the server confirmed, `false` when messages may be lost.
   */
  onHealth(healthy: boolean): void;
  /**
   * It will not come back by itself: the server refused it, or its client gave up. It is closed
   * then, and another is opened after a pause.
   */
  onFailed(): void;
}

/** What `RedisConnection.subscribe` gives. */
export interface Subscription {
  /** Ends the subscription and its connection. Never rejects. */
  close(): Promise<void>;
}
