import type { RedisConnection, Subscription, SubscriptionEvents } from './connection.js';

/** How long the end of a subscription is waited for: a server that hangs does not confirm it. */
const UNSUBSCRIBE_TIMEOUT_MS = 200;

/**
 * A connection that may be anybody's, or over a client that anybody has changed. Scripts run as it
 * runs them: `runScript` takes what they throw. Here it has no other way to throw, and its
 * subscriptions keep to the port's rules.
 */
export function guardedConnection(connection: RedisConnection): RedisConnection {
  const replication = connection.replication?.bind(connection);
  const eachMaster = connection.eachMaster?.bind(connection);
  const subscribe = connection.subscribe?.bind(connection);
  return {
    runBySha: (sha1, keys, args) => connection.runBySha(sha1, keys, args),
    runByText: (text, keys, args) => connection.runByText(text, keys, args),
    isClosed: () => {
      try {
        return connection.isClosed?.() === true;
      } catch {
        return false;
      }
    },
    get serverClock() {
      return connection.serverClock;
    },
    ...(replication !== undefined && { replication }),
    ...(eachMaster !== undefined && { eachMaster }),
    ...(subscribe !== undefined && {
      subscribe: (channel, events) =>
        guardedSubscription((heard) => subscribe(channel, heard), events),
    }),
  };
}

/**
 * What it says before it was returned is heard right after that; what it says once it has failed or
 * is closed is not heard. One that cannot be opened has failed.
 */
function guardedSubscription(
  open: (events: SubscriptionEvents) => Subscription,
  events: SubscriptionEvents,
): Subscription {
  let over = false;
  let early: (() => void)[] | undefined = [];
  const hear = (event: () => void): void => {
    if (over) return;
    if (early === undefined) event();
    else early.push(event);
  };
  const onFailed = (): void => {
    over = true;
    events.onFailed();
  };
  const hearEarly = (): void => {
    const heard = early ?? [];
    early = undefined;
    for (const event of heard) hear(event);
  };
  let subscription: Subscription | undefined;
  queueMicrotask(hearEarly);
  try {
    subscription = open({
      onMessage: (message) => hear(() => events.onMessage(message)),
      onHealth: (healthy) => hear(() => events.onHealth(healthy)),
      onFailed: () => hear(onFailed),
    });
  } catch {
    hear(onFailed);
  }
  return {
    close: () => {
      over = true;
      return ended(subscription);
    },
  };
}

/** Never rejects, and never takes long. */
async function ended(subscription: Subscription | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  // It keeps the process alive, for whoever waits for the end must get to it.
  const goodbye = new Promise<void>(
    (resolve) => (timer = setTimeout(resolve, UNSUBSCRIBE_TIMEOUT_MS)),
  );
  try {
    await Promise.race([subscription?.close(), goodbye]);
  } catch {
    // It has not kept to the port.
  } finally {
    clearTimeout(timer);
  }
}
