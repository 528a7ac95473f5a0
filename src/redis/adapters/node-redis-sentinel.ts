import type { Subscription, SubscriptionEvents } from '../connection.js';
import { isRefusal } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** Between two tries to subscribe, in milliseconds. */
const PAUSE = 250;

/** How long the end of a subscription is waited for, in milliseconds: a server that hangs does not confirm it. */
const GOODBYE = 200;

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
 * not tell, so after every sign of trouble the server is asked.
 */
export function subscribeOnSentinel(
  sentinel: NodeRedisSentinel,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const listener = (message: string): void => events.onMessage(message);
  let doubts = 1;
  let asking = false;
  let closed = false;

  const ask = async (): Promise<void> => {
    const doubt = doubts;
    try {
      await confirm(sentinel, channel, listener);
      if (closed) return;
      if (doubt !== doubts) return await ask();
      events.onHealth(true);
    } catch (error) {
      if (closed) return;
      events.onHealth(false);
      if (isRefusal(error)) return events.onFailed();
      await pass(PAUSE);
      if (!closed) await ask();
    }
  };
  const askOnce = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    await ask();
    asking = false;
  };
  const onTrouble = (): void => {
    doubts += 1;
    events.onHealth(false);
    void askOnce();
  };
  const onChange = (change: unknown): void => {
    if (isMasterChange(change)) onTrouble();
  };
  sentinel.on('error', onTrouble);
  sentinel.on('topology-change', onChange);
  void askOnce();
  return {
    close: async () => {
      closed = true;
      sentinel.removeListener('error', onTrouble);
      sentinel.removeListener('topology-change', onChange);
      await Promise.race([end(sentinel, channel, listener), pass(GOODBYE)]);
    },
  };
}

/**
 * Not before a script has run: a connection for subscriptions that it opens to a master that is down is tried for
 * ever, even after the client was closed. Subscribed already, it would answer at once by itself; only for a channel
 * that is new to it does it ask the server.
 */
async function confirm(
  sentinel: NodeRedisSentinel,
  channel: string,
  listener: (message: string) => void,
): Promise<void> {
  const probe = `${channel}:probe`;
  await sentinel.eval('return 1', { keys: [], arguments: [] });
  await sentinel.subscribe(channel, listener);
  await sentinel.subscribe(probe, ignore);
  await end(sentinel, probe, ignore);
}

async function end(
  sentinel: NodeRedisSentinel,
  channel: string,
  listener: (message: string) => void,
): Promise<void> {
  try {
    await sentinel.unsubscribe(channel, listener);
  } catch {
    // Its connection is gone, and the subscription with it.
  }
}

function isMasterChange(change: unknown): boolean {
  return (
    typeof change === 'object' && change !== null && Reflect.get(change, 'type') === 'MASTER_CHANGE'
  );
}

function ignore(): void {}

function pass(duration: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, duration).unref());
}
