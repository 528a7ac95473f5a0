import type { Subscription, SubscriptionEvents } from '../connection.js';
import { detectsFailover } from './ioredis-sentinel.js';
import type { Attempt } from './moving-subscription.js';
import { movingSubscription } from './moving-subscription.js';

type CopyOptions = Record<string, boolean | number | (() => null)>;

/** What is used of an `ioredis` Redis or Cluster (5, 6), by shape, so that every version's own type fits. */
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
  // It leaves nothing unsaid. By itself it would wait 2 s for a server that hangs, and keep the process alive meanwhile.
  disconnectTimeout: 1,
  // A copy that is closed while it connects would leave its detector's connections behind. The client's own tells of a failover.
  failoverDetector: false,
};

/** The mock's own fields, none of which ioredis has: a real server must never be given a client's clock. */
export function isMock(client: object): boolean {
  return 'shaScripts' in client && 'keyData' in client && !('status' in client);
}

/** On copies of a single client, or of one that sentinels lead. */
export function subscribeOnCopy(
  client: Duplicable,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const copy = (): Subscriber =>
    isMock(client) ? client.duplicate() : client.duplicate(COPY_OPTIONS);
  let lose: (() => void) | undefined;
  const subscription = movingSubscription((onLost) => {
    lose = onLost;
    return new CopyAttempt(copy, channel, events, onLost);
  }, events);
  if (!detectsFailover(client)) return subscription;
  const onClose = (): void => lose?.();
  client.on('close', onClose);
  return {
    close: () => {
      client.removeListener('close', onClose);
      return subscription.close();
    },
  };
}

/** The life of one copy of a client, which connects by itself and can be ended at any moment. */
export class CopyAttempt implements Attempt {
  readonly subscribed: Promise<void>;
  readonly #channel: string;
  readonly #made: Promise<Subscriber>;
  #ended: Promise<void> | undefined;

  constructor(
    copy: () => Subscriber,
    channel: string,
    events: SubscriptionEvents,
    onLost: () => void,
  ) {
    this.#channel = channel;
    // A client that somebody has changed may throw, or give a promise.
    this.#made = Promise.resolve().then(copy);
    this.subscribed = this.#open(events, onLost);
  }

  close(): Promise<void> {
    this.#ended ??= this.#made.then(
      (made) => endOf(made, this.#channel),
      () => undefined,
    );
    return this.#ended;
  }

  async #open(events: SubscriptionEvents, onLost: () => void): Promise<void> {
    const made = await this.#made;
    // A connection that breaks is closed; other errors leave it as it is.
    made.on('error', () => undefined);
    made.on('close', onLost);
    made.on('end', onLost);
    for (const event of ['connect', 'ready']) made.on(event, () => unref(made));
    made.on('message', (_channel, message) => {
      if (message !== undefined) events.onMessage(message);
    });
    await made.subscribe(this.#channel);
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

async function endOf(copy: Subscriber, channel: string): Promise<void> {
  try {
    // ioredis-mock keeps the listeners of a connection that is gone.
    if (isMock(copy)) await copy.unsubscribe(channel);
    else if (copy.status === 'end') return;
  } catch {
    // Whether it has ended it cannot say.
  }
  try {
    copy.disconnect();
    if (!isMock(copy)) await new Promise<void>((resolve) => void copy.on('end', () => resolve()));
  } catch {
    // What cannot be ended was not begun.
  }
}
