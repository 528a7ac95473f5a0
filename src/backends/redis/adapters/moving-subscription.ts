import type { Subscription, SubscriptionEvents } from '../connection.js';

/**
 * Between a subscription that was lost and the next one: polling takes over meanwhile. Doubles up
 * to the most while none is confirmed.
 */
const RESUBSCRIBE_DELAY_MS = 250;
const LONGEST_RESUBSCRIBE_DELAY_MS = 2000;

/**
 * How long one subscription may take to be confirmed; a node that hangs accepts a connection and
 * says nothing.
 */
const SUBSCRIBE_TIMEOUT_MS = 5000;

/**
 * One connection with one subscription: when it is lost it ends, and never comes back by itself.
 */
export interface Attempt {
  /** Settles when the server has confirmed the subscription, or with why there is none. */
  readonly subscribed: Promise<unknown>;
  /**
   * Ends it; may be called more than once. Resolves once its connection has ended; never rejects.
   */
  close(): Promise<void>;
}

/**
 * A subscription that lives longer than one connection: when that is lost, the next is opened, on
 * another node if there is one. `open` calls `onLost` when its subscription may have missed
 * messages.
 */
export function movingSubscription(
  open: (onLost: () => void) => Attempt,
  events: SubscriptionEvents,
): Subscription {
  return new MovingSubscription(open, events);
}

class MovingSubscription implements Subscription {
  readonly #open: (onLost: () => void) => Attempt;
  readonly #events: SubscriptionEvents;
  #closed = false;
  #current: Attempt | undefined;
  /** Settles when the one before has ended. */
  #left: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #pause = RESUBSCRIBE_DELAY_MS;

  constructor(open: (onLost: () => void) => Attempt, events: SubscriptionEvents) {
    this.#open = open;
    this.#events = events;
    this.#move();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all([this.#left, this.#current?.close()]);
  }

  #move(): void {
    // Still undefined if a client reports a loss before `open` has returned: the time limit ends
    // such an attempt.
    let made: Attempt | undefined = undefined;
    const attempt = this.#open(() => this.#moveLater(made));
    made = attempt;
    this.#current = attempt;
    this.#timer = setTimeout(() => this.#moveLater(attempt), SUBSCRIBE_TIMEOUT_MS).unref();
    void this.#follow(attempt);
  }

  async #follow(attempt: Attempt): Promise<void> {
    try {
      await attempt.subscribed;
    } catch (error) {
      if (!isRefusal(error)) return this.#moveLater(attempt);
      if (!this.#isCurrent(attempt)) return;
      // No other node would allow it.
      this.#leave(attempt);
      if (!this.#closed) this.#events.onFailed();
      return;
    }
    if (!this.#isCurrent(attempt)) return;
    clearTimeout(this.#timer);
    this.#pause = RESUBSCRIBE_DELAY_MS;
    this.#events.onHealth(true);
  }

  #moveLater(attempt: Attempt | undefined): void {
    if (attempt === undefined || !this.#isCurrent(attempt)) return;
    this.#leave(attempt);
    // A listener for the loss may have closed it.
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#move(), this.#pause).unref();
    this.#pause = Math.min(2 * this.#pause, LONGEST_RESUBSCRIBE_DELAY_MS);
  }

  #leave(attempt: Attempt): void {
    this.#current = undefined;
    clearTimeout(this.#timer);
    this.#left = attempt.close();
    this.#events.onHealth(false);
  }

  #isCurrent(attempt: Attempt): boolean {
    return !this.#closed && this.#current === attempt;
  }
}

/**
 * The server said no, and will until somebody changes its mind. A connection that was lost says
 * otherwise, and a server that cannot now says LOADING and the like.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|NOAUTH|WRONGPASS|ERR)/.test(error.message);
}

/**
 * One of those `nodes` that are ready. Any other may be down, and a client that is asked for it
 * would try it for ever.
 */
export function anyReady<T>(nodes: readonly T[], isReady: (node: T) => boolean): T | undefined {
  const ready = nodes.filter(isReady);
  return ready[Math.floor(Math.random() * ready.length)];
}
