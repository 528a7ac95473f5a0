import type { Subscription, SubscriptionEvents } from '../connection.js';

/** Between a subscription that was lost and the next one, in milliseconds: polling takes over meanwhile. Doubles up to the most while none is confirmed. */
const PAUSE = 250;
const MOST_PAUSE = 2000;

/** How long one subscription may take to be confirmed, in milliseconds; a node that hangs accepts a connection and says nothing. */
const PATIENCE = 5000;

/** One connection with one subscription: when it is lost it ends, and never comes back by itself. */
export interface Attempt {
  /** Settles when the server has confirmed the subscription, or with why there is none. */
  readonly subscribed: Promise<unknown>;
  /** Ends it; may be called more than once. Resolves once its connection has ended; never rejects. */
  close(): Promise<void>;
}

/**
 * A subscription that lives longer than one connection: when that is lost, the next is opened, on another node if there is
 * one. `open` calls `onLost` when its subscription may have missed messages.
 */
export function movingSubscription(
  open: (onLost: () => void) => Attempt,
  events: SubscriptionEvents,
): Subscription {
  let closed = false;
  let current: Attempt | undefined;
  let leaving: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause = PAUSE;

  const leave = (attempt: Attempt): void => {
    current = undefined;
    clearTimeout(timer);
    leaving = attempt.close();
    events.onHealth(false);
  };
  const moveLater = (attempt: Attempt | undefined): void => {
    if (closed || attempt === undefined || current !== attempt) return;
    leave(attempt);
    // Who hears of the loss may have closed it.
    if (closed) return;
    timer = setTimeout(move, pause).unref();
    pause = Math.min(2 * pause, MOST_PAUSE);
  };
  const move = (): void => {
    // Undefined to a client that tells of a loss before this has returned: the time limit ends such an attempt.
    let made: Attempt | undefined = undefined;
    const attempt = open(() => moveLater(made));
    made = attempt;
    current = attempt;
    timer = setTimeout(() => moveLater(attempt), PATIENCE).unref();
    void follow(attempt);
  };
  const follow = async (attempt: Attempt): Promise<void> => {
    try {
      await attempt.subscribed;
    } catch (error) {
      if (!isRefusal(error)) return moveLater(attempt);
      if (closed || current !== attempt) return;
      // No other node would allow it.
      leave(attempt);
      if (!closed) events.onFailed();
      return;
    }
    if (closed || current !== attempt) return;
    clearTimeout(timer);
    pause = PAUSE;
    events.onHealth(true);
  };
  move();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await Promise.all([leaving, current?.close()]);
    },
  };
}

/** The server said no, and will until somebody changes its mind. A connection that was lost says otherwise, and a server that cannot now says LOADING and the like. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|NOAUTH|WRONGPASS|ERR)/.test(error.message);
}

/** One of those `nodes` that are ready. Any other may be down, and a client that is asked for it would try it for ever. */
export function anyReady<T>(nodes: readonly T[], isReady: (node: T) => boolean): T | undefined {
  const ready = nodes.filter(isReady);
  return ready[Math.floor(Math.random() * ready.length)];
}
