import type { Subscription, SubscriptionEvents } from '../connection.js';

/**
 * The pause between a lost subscription and the next: waiters poll meanwhile. It doubles up to the
 * longest while no subscription is confirmed, so that a user without the right to subscribe costs
 * the server little.
 */
const RESUBSCRIBE_DELAY_MS = 250;
const LONGEST_RESUBSCRIBE_DELAY_MS = 5000;

/**
 * How long one subscription may take to be confirmed; a node that hangs accepts a connection and
 * says nothing.
 */
const SUBSCRIBE_TIMEOUT_MS = 5000;

/** Ends a connection. Resolves once it has ended; never rejects. */
export type Close = () => Promise<void>;

/** What one connection with one subscription reports, not at once. */
export type ConnectionEvents = Pick<SubscriptionEvents, 'onMessage' | 'onHealth'>;

/** Opens a connection that never subscribes again once it is lost. */
type Open = (events: ConnectionEvents) => Close;

/** A client that finds the master by itself. */
export interface Leader {
  on(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/**
 * A subscription that lives longer than one connection: when that is lost, the next is opened, on
 * another node if there is one. A master that hangs keeps its connections, so `newMaster`, an event
 * of `leader`, counts as a loss, too.
 */
export function movingSubscription(
  open: Open,
  events: SubscriptionEvents,
  newMaster: string,
  leader: Leader | undefined,
): Subscription {
  /** Of the connection that is there. */
  let current: Close | undefined;
  /** Settles when the connection before has ended. */
  let left: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause = RESUBSCRIBE_DELAY_MS;

  const move = (): void => {
    const close = opened(open, {
      onMessage: (message) => events.onMessage(message),
      onHealth: (healthy) => note(close, healthy),
    });
    current = close;
    timer = setTimeout(() => note(close, false), SUBSCRIBE_TIMEOUT_MS).unref();
  };
  const note = (close: Close | undefined, healthy: boolean): void => {
    if (close === undefined || close !== current) return;
    clearTimeout(timer);
    if (healthy) {
      pause = RESUBSCRIBE_DELAY_MS;
    } else {
      current = undefined;
      left = close();
      timer = setTimeout(move, pause).unref();
      pause = Math.min(2 * pause, LONGEST_RESUBSCRIBE_DELAY_MS);
    }
    // Its listener may close all.
    events.onHealth(healthy);
  };
  const leave = (): void => note(current, false);
  leader?.on(newMaster, leave);
  move();
  return {
    close: async () => {
      leader?.removeListener(newMaster, leave);
      clearTimeout(timer);
      const last = current;
      current = undefined;
      await Promise.all([left, last?.()]);
    },
  };
}

/** What cannot be opened is lost. */
function opened(open: Open, events: ConnectionEvents): Close {
  try {
    return open(events);
  } catch {
    queueMicrotask(() => events.onHealth(false));
    return () => Promise.resolve();
  }
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
