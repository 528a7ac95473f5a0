import type { Subscription, SubscriptionEvents } from '../connection.js';

/**
 * The pause between a lost subscription and the next: waiters poll meanwhile. It doubles up to the
 * longest while no subscription is confirmed.
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
  /** Ends it. Resolves once its connection has ended; never rejects. */
  close(): Promise<void>;
}

/**
 * A subscription that lives longer than one connection: when that is lost, the next is opened, on
 * another node if there is one. `open` calls `onLost`, not at once, when its subscription may have
 * missed messages.
 */
export function movingSubscription(
  open: (onLost: () => void) => Attempt,
  events: SubscriptionEvents,
): Subscription {
  let current: Attempt | undefined;
  /** Settles when the attempt before has ended. */
  let left: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let [isClosed, pause] = [false, RESUBSCRIBE_DELAY_MS];

  const move = (): void => {
    const attempt = opened(open, () => lose(attempt));
    current = attempt;
    timer = setTimeout(() => lose(attempt), SUBSCRIBE_TIMEOUT_MS).unref();
    attempt.subscribed.then(
      () => confirm(attempt),
      (error: unknown) => lose(attempt, isRefusal(error)),
    );
  };
  const confirm = (attempt: Attempt): void => {
    if (current !== attempt) return;
    clearTimeout(timer);
    pause = RESUBSCRIBE_DELAY_MS;
    events.onHealth(true);
  };
  /** `forGood`: no other node would allow it. */
  const lose = (attempt: Attempt, forGood = false): void => {
    if (current !== attempt) return;
    current = undefined;
    clearTimeout(timer);
    left = attempt.close();
    events.onHealth(false);
    // A listener for the loss may have closed it.
    if (isClosed) return;
    if (forGood) return events.onFailed();
    timer = setTimeout(move, pause).unref();
    pause = Math.min(2 * pause, LONGEST_RESUBSCRIBE_DELAY_MS);
  };
  move();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      const last = current;
      current = undefined;
      await Promise.all([left, last?.close()]);
    },
  };
}

/** One that cannot be opened has failed. */
function opened(open: (onLost: () => void) => Attempt, onLost: () => void): Attempt {
  try {
    return open(onLost);
  } catch (error) {
    return { subscribed: Promise.reject(error), close: () => Promise.resolve() };
  }
}

/**
 * The server said no, and will until its rights change. A connection that was lost says otherwise,
 * and a server that cannot now says LOADING and the like.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|NOAUTH|WRONGPASS|ERR)/.test(error.message);
}

/**
 * A ready node of `nodes`, by chance. Any other node may be down, and a client that is asked for it
 * would try it for ever.
 */
export function anyReady<T>(nodes: readonly T[], isReady: (node: T) => boolean): T {
  const ready = nodes.filter(isReady);
  const node = ready[Math.floor(Math.random() * ready.length)];
  if (node === undefined) throw new Error('the cluster client knows no node that is ready');
  return node;
}
