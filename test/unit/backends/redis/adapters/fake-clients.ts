import { EventEmitter } from 'node:events';

import type { RedisConnection } from '../../../../../src/backends/redis/connection.js';
import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';

/** A subscriber of either client; a test decides each answer to SUBSCRIBE. */
class FakeSubscriber extends EventEmitter {
  status = 'ready';
  ended = 0;
  readonly subscribe: () => Promise<void>;

  constructor(subscribe: () => Promise<void>) {
    super();
    this.subscribe = subscribe;
  }

  async connect(): Promise<void> {}

  /** Of node-redis. */
  destroy(): void {
    this.ended += 1;
  }

  /** Of ioredis: it returns nothing, and the end comes later. */
  disconnect(): never {
    this.ended += 1;
    this.status = 'end';
    setImmediate(() => this.emit('end'));
    return undefined as never;
  }
}

/** A client without a server. */
export class FakeClient {
  readonly subscribers: FakeSubscriber[] = [];
  /** The options of its copies. */
  readonly copies: unknown[] = [];
  readonly connection: RedisConnection;
  readonly fields: Record<string, unknown>;
  /** Of its subscribers. */
  onSubscribe: () => Promise<void> = () => Promise.resolve();

  constructor(kind: Kind) {
    const run = () => Promise.resolve('reply');
    const duplicate = (options: unknown): FakeSubscriber => {
      const subscriber = new FakeSubscriber(() => this.onSubscribe());
      this.copies.push(options);
      this.subscribers.push(subscriber);
      return subscriber;
    };
    const own =
      kind === 'ioredis' ? { evalsha: run, status: 'ready' } : { evalSha: run, isOpen: true };
    this.fields = { ...own, eval: run, subscribe: run, duplicate };
    this.connection = connectionTo(kind, this.fields);
  }

  /** A subscription of it, with its reports. */
  subscribe() {
    const told = collected();
    const subscription = this.connection.subscribe?.('p:inbox:c', told.events);
    return { ...told, close: async () => subscription?.close() };
  }

  /** Of the subscription. */
  get subscriber(): FakeSubscriber {
    const [subscriber] = this.subscribers;
    if (subscriber === undefined) throw new Error('there is no subscription');
    return subscriber;
  }
}

export type Kind = 'node-redis' | 'ioredis';

/** The connection that a client with just these fields gets. */
export function connectionTo(kind: Kind, fields: object): RedisConnection {
  const connection = kind === 'ioredis' ? ioredisConnection : nodeRedisConnection;
  return connection(fields as never);
}

/** Notes the reports of a subscription. */
export function collected() {
  const messages: string[] = [];
  const health: boolean[] = [];
  const failures: string[] = [];
  const events = {
    onMessage: (message: string): void => void messages.push(message),
    onHealth: (healthy: boolean): void => void health.push(healthy),
    onFailed: (): void => void failures.push('failed'),
  };
  return { messages, health, failures, events };
}
