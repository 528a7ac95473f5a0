import type { Subscription, SubscriptionEvents } from '../connection.js';

/** Between a subscription that was lost and the next one, in milliseconds: polling goes on meanwhile. */
const PAUSE = 250;

/** How long one subscription may take to stand, in milliseconds; a node that hangs accepts a connection and says nothing. */
const PATIENCE = 5000;

export interface Attempt {
  /** Settles when the server has confirmed the subscription, or with why there is none. */
  readonly subscribed: Promise<unknown>;
  /** Ends it; may be called more than once. */
  close(): Promise<void>;
}

/**
 * A subscription that several nodes can serve: when one is lost, the next is opened, on another node if there is
 * one. `open` calls `onLost` when its subscription may have missed messages.
 */
export function movingSubscription(
  open: (onLost: () => void) => Attempt,
  events: SubscriptionEvents,
): Subscription {
  let closed = false;
  let current: Attempt | undefined;
  let timer: NodeJS.Timeout | undefined;

  const leave = (attempt: Attempt): void => {
    current = undefined;
    clearTimeout(timer);
    events.onHealth(false);
    void attempt.close();
  };
  const moveLater = (attempt: Attempt): void => {
    if (closed || current !== attempt) return;
    leave(attempt);
    timer = setTimeout(move, PAUSE).unref();
  };
  const move = (): void => {
    const attempt = open(() => moveLater(attempt));
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
      return events.onFailed();
    }
    if (closed || current !== attempt) return;
    clearTimeout(timer);
    events.onHealth(true);
  };
  move();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await current?.close();
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
