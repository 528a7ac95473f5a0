import type { RedisConnection, Subscription, SubscriptionEvents } from '../connection.js';
import type { SentinelLed } from './ioredis-sentinel.js';
import type { Attempt } from './moving-subscription.js';
import { movingSubscription } from './moving-subscription.js';
import { withText } from './shape.js';

type CopyOptions = Record<string, boolean | number | (() => null)>;

/**
 * What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type
 * fits.
 */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  readonly status?: string;
}

/** What is used of a single `ioredis` client (5, 6) beyond its commands. */
export interface Duplicable {
  duplicate(options?: CopyOptions): Subscriber;
}

export interface Subscriber {
  on(event: string, listener: (...args: string[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
  readonly status?: string;
  readonly stream?: { unref?(): void };
}

/** Of a copy that connects once, subscribes, and ends when its connection does. */
export const COPY_OPTIONS: CopyOptions = {
  lazyConnect: false,
  enableOfflineQueue: true,
  // Another copy takes its place.
  retryStrategy: () => null,
  // It leaves nothing unsaid. By itself it would wait 2 s for a server that hangs, and keep the
  // process alive meanwhile.
  disconnectTimeout: 1,
  // A copy that is closed while it connects would leave its detector's connections behind. The
  // client's own detector reports a failover.
  failoverDetector: false,
};

export function scriptsOf(client: IoredisClient): Pick<RedisConnection, 'runBySha' | 'runByText'> {
  return {
    // async, for ioredis-mock throws at once where ioredis rejects.
    runBySha: async (sha1, keys, args) =>
      withText(await client.evalsha(sha1, keys.length, ...keys, ...args)),
    runByText: async (script, keys, args) =>
      withText(await client.eval(script, keys.length, ...keys, ...args)),
  };
}

/**
 * On copies of a client. `led`: one that sentinels lead; where it loses its master, so does the
 * copy, but hears of it later.
 */
export function subscribeOnCopies(
  copy: () => Subscriber,
  channel: string,
  events: SubscriptionEvents,
  led?: SentinelLed,
): Subscription {
  return movingSubscription(
    (onLost) => new CopyAttempt(copy, channel, events, onLost, led),
    events,
  );
}

/** The life of one copy of a client, which connects by itself and can be ended at any moment. */
class CopyAttempt implements Attempt {
  readonly subscribed: Promise<void>;
  readonly #onLost: () => void;
  readonly #led: SentinelLed | undefined;
  readonly #made: Promise<Subscriber>;
  #ended: Promise<void> | undefined;

  constructor(
    copy: () => Subscriber,
    channel: string,
    events: SubscriptionEvents,
    onLost: () => void,
    led: SentinelLed | undefined,
  ) {
    this.#onLost = onLost;
    this.#led = led;
    led?.on('close', onLost);
    // A client that somebody has changed may throw, or give a promise.
    this.#made = Promise.resolve().then(copy);
    this.subscribed = this.#open(channel, events);
  }

  close(): Promise<void> {
    this.#led?.removeListener('close', this.#onLost);
    this.#ended ??= this.#made.then(endOf, () => undefined);
    return this.#ended;
  }

  async #open(channel: string, events: SubscriptionEvents): Promise<void> {
    const made = await this.#made;
    // A connection that breaks is closed; other errors leave it as it is.
    made.on('error', () => undefined);
    made.on('close', this.#onLost);
    made.on('end', this.#onLost);
    for (const event of ['connect', 'ready']) made.on(event, () => unref(made));
    made.on('message', (_channel, message) => {
      if (message !== undefined) events.onMessage(message);
    });
    await made.subscribe(channel);
    unref(made);
  }
}

function unref(copy: Subscriber): void {
  try {
    copy.stream?.unref?.();
  } catch {
    // Then it keeps the process alive until it is closed.
  }
}

async function endOf(copy: Subscriber): Promise<void> {
  try {
    if (copy.status === 'end') return;
  } catch {
    // Whether it has ended it cannot say.
  }
  try {
    copy.disconnect();
    await new Promise<void>((resolve) => void copy.on('end', () => resolve()));
  } catch {
    // What cannot be ended was not begun.
  }
}
