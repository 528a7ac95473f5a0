import { EventEmitter } from 'node:events';

import type { RedisConnection } from '../../../../../src/backends/redis/connection.js';
import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';

export type Kind = 'node-redis' | 'ioredis';

/** A subscriber of either client; a test decides each answer to SUBSCRIBE. */
function fakeSubscriber(subscribe: () => Promise<void>): FakeSubscriber {
  const subscriber = Object.assign(new EventEmitter(), {
    status: 'ready',
    ended: 0,
    subscribe,
    connect: async () => {},
    /** Of node-redis. */
    destroy: () => (subscriber.ended += 1),
    /** Of ioredis: it returns nothing, and the end comes later. */
    disconnect: (): void => {
      subscriber.ended += 1;
      subscriber.status = 'end';
      setImmediate(() => subscriber.emit('end'));
    },
  });
  return subscriber;
}

interface FakeSubscriber extends EventEmitter {
  readonly ended: number;
}

/** A client without a server, whose subscribers get the answers of `onSubscribe`. */
export function fakeClient(
  kind: Kind,
  onSubscribe: (count: number) => Promise<void> = () => Promise.resolve(),
) {
  const subscribers: FakeSubscriber[] = [];
  /** The options of its copies. */
  const copies: unknown[] = [];
  const run = () => Promise.resolve('reply');
  const duplicate = (options: unknown): FakeSubscriber => {
    const count = copies.push(options);
    const subscriber = fakeSubscriber(() => onSubscribe(count));
    subscribers.push(subscriber);
    return subscriber;
  };
  const own =
    kind === 'ioredis' ? { evalsha: run, status: 'ready' } : { evalSha: run, isOpen: true };
  const fields: Record<string, unknown> = { ...own, eval: run, subscribe: run, duplicate };
  const connection = connectionTo(kind, fields);
  return { subscribers, copies, fields, connection, subscribe: () => subscription(connection) };
}

/** The connection that a client with just these fields gets. */
export function connectionTo(kind: Kind, fields: object): RedisConnection {
  const connection = kind === 'ioredis' ? ioredisConnection : nodeRedisConnection;
  return connection(fields as never);
}

/** Subscribes, and notes messages, changes of health and a failure. */
export function subscription(connection: RedisConnection) {
  const told: (string | boolean)[] = [];
  const note = (what: string | boolean): void => void told.push(what);
  const events = { onMessage: note, onHealth: note, onFailed: () => note('failed') };
  const subscribed = connection.subscribe?.('p:inbox:c', events);
  return { told, close: async () => subscribed?.close() };
}
