import type { Subscription, SubscriptionEvents } from '../connection.js';
import { isRefusal } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** Between two tries to subscribe, in milliseconds. */
const PAUSE = 250;

/** After these its connection is left to the client, which ends it when it is closed. */
const TRIES_TO_END = 10;

/** No grant: what a subscription sends to itself. */
const ECHO = 'echo';

const PUBLISH = "return redis.call('publish', ARGV[1], ARGV[2])";

/** Settles once those that were closed before have ended: an end that meets a beginning would take that with it. */
const leaving = new WeakMap<NodeRedisSentinel, Promise<void>>();

/** What is used of `createSentinel` (5, 6) beyond its commands. */
export interface NodeRedisSentinel {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  on(event: string, listener: (event: unknown) => void): unknown;
  removeListener(event: string, listener: (event: unknown) => void): unknown;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

export function isSentinel(client: object): client is NodeRedisSentinel {
  // `setTracer` is its own; a client, a cluster and a pool have none.
  return hasMethods(client, 'setTracer', 'use', 'subscribe', 'unsubscribe');
}

/**
 * It makes one connection of its own for subscriptions and takes it along to a new master: a copy of the whole
 * client would add two more, and version 5 cannot be copied. Whether that connection stood all the while it does
 * not tell, so after every sign of trouble a message to itself is sent.
 */
export function subscribeOnSentinel(
  sentinel: NodeRedisSentinel,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  let doubts = 1;
  let asking: Promise<void> | undefined;
  let closed = false;
  let hear: () => void = () => undefined;
  const listener = (message: string): void => {
    if (message === ECHO) hear();
    else events.onMessage(message);
  };

  const confirmed = (): Promise<void> => {
    const heard = new Promise<void>((resolve) => (hear = resolve));
    return confirm(sentinel, channel, listener, heard);
  };
  const ask = async (): Promise<void> => {
    await leaving.get(sentinel);
    for (;;) {
      const doubt = doubts;
      try {
        await confirmed();
        if (doubt !== doubts) continue;
        if (!closed) events.onHealth(true);
        return;
      } catch (error) {
        if (!closed) events.onHealth(false);
        // Who hears of that may have closed it.
        if (closed) return;
        if (isRefusal(error)) return events.onFailed();
        await pass(PAUSE);
        if (closed) return;
      }
    }
  };
  const askOnce = (): void => {
    asking ??= ask().finally(() => (asking = undefined));
  };
  const onTrouble = (): void => {
    doubts += 1;
    askOnce();
    events.onHealth(false);
  };
  const onChange = (change: unknown): void => {
    if (isMasterChange(change)) onTrouble();
  };
  sentinel.on('error', onTrouble);
  sentinel.on('topology-change', onChange);
  askOnce();
  const leave = async (): Promise<void> => {
    // Its connection cannot be ended while it is made: it would be nobody's then.
    await asking;
    await end(sentinel, channel, confirmed, listener);
  };
  return {
    close: () => {
      closed = true;
      sentinel.removeListener('error', onTrouble);
      sentinel.removeListener('topology-change', onChange);
      const left = leave();
      leaving.set(sentinel, left);
      return left;
    },
  };
}

/**
 * Not before a script has run: a connection for subscriptions that it opens to a master that is down is tried for
 * ever, even after the client was closed. Subscribed already, it answers at once by itself. A second channel would ask the
 * server, but one that is refused because the connection breaks would leave that behind.
 */
async function confirm(
  sentinel: NodeRedisSentinel,
  channel: string,
  listener: (message: string) => void,
  heard: Promise<void>,
): Promise<void> {
  await sentinel.eval('return 1', { keys: [], arguments: [] });
  await sentinel.subscribe(channel, listener);
  await sentinel.eval(PUBLISH, { keys: [], arguments: [channel, ECHO] });
  const silence = pass(PAUSE).then(() => {
    throw new Error(`no echo within ${PAUSE} ms`);
  });
  await Promise.race([heard, silence]);
}

/** Where its connection breaks meanwhile, that comes back with the subscription, and can be ended only then. */
async function end(
  sentinel: NodeRedisSentinel,
  channel: string,
  confirmed: () => Promise<void>,
  listener: (message: string) => void,
): Promise<void> {
  for (let tries = 0; tries < TRIES_TO_END; tries += 1) {
    try {
      if (tries > 0) await confirmed();
      await sentinel.unsubscribe(channel, listener);
      return;
    } catch {
      await pass(PAUSE);
    }
  }
}

function isMasterChange(change: unknown): boolean {
  return (
    typeof change === 'object' && change !== null && Reflect.get(change, 'type') === 'MASTER_CHANGE'
  );
}

function pass(duration: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, duration).unref());
}
