import type { Subscription, SubscriptionEvents } from '../connection.js';
import { type Attempt, isRefusal, movingSubscription } from './moving-subscription.js';
import { hasMethods } from './shape.js';

/** Between two tries to subscribe, and how long one may take. */
const RETRY_DELAY_MS = 250;

/** After these its connection is left to the client, which ends it when it is closed. */
const TRIES_TO_END = 10;

/** No grant: what a subscription sends to itself. */
const ECHO = 'echo';

const PUBLISH = "return redis.call('publish', ARGV[1], ARGV[2])";

/**
 * By client: when its last subscription or end of a subscription is done. They come one after the
 * other, because an end that meets a new subscription would end it, too.
 */
const turns = new WeakMap<NodeRedisSentinel, Promise<void>>();

type Change = { readonly type?: string } | undefined;

/** What is used of `createSentinel` (5, 6) beyond its commands. */
export interface NodeRedisSentinel {
  readonly isOpen?: boolean;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  on(event: string, listener: (change: Change) => void): unknown;
  removeListener(event: string, listener: (change: Change) => void): unknown;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

export function isSentinel(client: object): client is NodeRedisSentinel {
  // `setTracer` is its own; a client, a cluster and a pool have none.
  return hasMethods(client, 'setTracer', 'use', 'subscribe', 'unsubscribe');
}

function inTurn(sentinel: NodeRedisSentinel, task: () => Promise<void>): Promise<void> {
  const turn = (turns.get(sentinel) ?? Promise.resolve()).then(task, task);
  turns.set(sentinel, turn);
  return turn;
}

/**
 * The client makes a separate connection for subscriptions and takes it along to a new master: a
 * copy of the whole client would add two more, and version 5 cannot be copied. The client does not
 * report whether that connection stood all the while. So an attempt lasts until the next sign of
 * trouble, and the next attempt sends a message to itself.
 */
export function sentinelSubscription(
  sentinel: NodeRedisSentinel,
  channel: string,
  events: SubscriptionEvents,
): Subscription {
  const { hear, confirm } = echoing(sentinel, channel, events);
  let onTrouble: (() => void) | undefined;
  const onError = (): void => onTrouble?.();
  const onChange = (change: Change): void => {
    if (change?.type === 'MASTER_CHANGE') onTrouble?.();
  };
  const open = (onLost: () => void): Attempt => {
    onTrouble = onLost;
    return { subscribed: inTurn(sentinel, confirm), close: () => Promise.resolve() };
  };
  /**
   * The connection cannot be ended while the client makes it: the client would lose track of it.
   * Where it breaks meanwhile, it comes back with the subscription, and can be ended only then.
   */
  const leave = async (): Promise<void> => {
    // A closed client has ended its connection, and would make another one to unsubscribe. Valkey
    // 8.0 refuses that where nothing is subscribed, and the new connection would stay.
    for (let tries = 0; tries < TRIES_TO_END && sentinel.isOpen !== false; tries += 1) {
      try {
        if (tries > 0) await confirm();
        await sentinel.unsubscribe(channel, hear);
        return;
      } catch (error) {
        // Without the right to unsubscribe, the subscription stays until the client is closed.
        if (isRefusal(error)) return;
        await pass(RETRY_DELAY_MS);
      }
    }
  };
  sentinel.on('error', onError);
  sentinel.on('topology-change', onChange);
  const moving = movingSubscription(open, events);
  const close = (): Promise<void> => {
    sentinel.removeListener('error', onError);
    sentinel.removeListener('topology-change', onChange);
    void moving.close();
    return inTurn(sentinel, leave);
  };
  return { close };
}

/** Hears the messages of a channel, and confirms that they arrive. */
function echoing(sentinel: NodeRedisSentinel, channel: string, events: SubscriptionEvents) {
  let onEcho: (() => void) | undefined;
  const hear = (message: string): void => {
    if (message === ECHO) onEcho?.();
    else events.onMessage(message);
  };
  /**
   * Not before a script has run: a connection for subscriptions that the client opens to a master
   * that is down is tried for ever, even after the client was closed. Subscribed already, the
   * client answers at once by itself. A second channel would ask the server, but a second channel
   * that is refused because the connection breaks would leave that behind.
   */
  const confirm = async (): Promise<void> => {
    const heard = new Promise<void>((resolve) => (onEcho = resolve));
    await sentinel.eval('return 1', { keys: [], arguments: [] });
    await sentinel.subscribe(channel, hear);
    await sentinel.eval(PUBLISH, { keys: [], arguments: [channel, ECHO] });
    const silence = pass(RETRY_DELAY_MS).then(() => {
      throw new Error(`no echo within ${RETRY_DELAY_MS} ms`);
    });
    await Promise.race([heard, silence]);
  };
  return { hear, confirm };
}

function pass(duration: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, duration).unref());
}
