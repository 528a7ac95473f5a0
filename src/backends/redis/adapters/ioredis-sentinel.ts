import { hasMethods } from './shape.js';

/** What is used of an `ioredis` client (5, 6) that sentinels lead, beyond its commands. */
export interface SentinelLed {
  on(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  readonly status?: string;
}

/**
 * ioredis ends for good when its failover detector hears of a new master at the very moment in
 * which it asks the sentinels for one: of many processes a few would stay without a connection
 * after a failover. Nobody has closed such a client, so it is connected again; once, until that has
 * succeeded, because its own options may have made it give up.
 */
export class Revival {
  readonly #client: SentinelLed;
  #connecting: boolean;
  #tried = false;

  constructor(client: SentinelLed) {
    this.#client = client;
    this.#connecting = client.status === 'connecting';
    client.on('connecting', () => (this.#connecting = true));
    // A connection that breaks, or that its owner closes, is closed before it has ended.
    for (const event of ['connect', 'close']) client.on(event, () => (this.#connecting = false));
    client.on('ready', () => (this.#tried = false));
    client.on('end', () => this.#onEnd());
  }

  /** Whether it has ended and will be connected again. */
  get pending(): boolean {
    // Closed by its owner while it was asking.
    const closed = Reflect.get(this.#client, 'manuallyClosing') === true;
    return this.#connecting && !this.#tried && !closed;
  }

  // Not at once: a listener of the application comes first.
  #onEnd(): void {
    setImmediate(() => {
      if (this.#client.status !== 'end' || !this.pending) return;
      this.#tried = true;
      this.#client.connect().catch(() => undefined);
    });
  }
}

export function detectsFailover(client: object): client is SentinelLed {
  if (!hasMethods(client, 'on', 'removeListener', 'connect')) return false;
  const options: unknown = Reflect.get(client, 'options');
  if (typeof options !== 'object' || options === null) return false;
  return (
    Array.isArray(Reflect.get(options, 'sentinels')) &&
    Reflect.get(options, 'failoverDetector') === true
  );
}
