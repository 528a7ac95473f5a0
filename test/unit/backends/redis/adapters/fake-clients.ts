import { EventEmitter } from 'node:events';

import type { RedisConnection } from '../../../../../src/backends/redis/connection.js';
import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';

/** A subscriber of either client; a test decides each answer to SUBSCRIBE. */
class FakeSubscriber extends EventEmitter {
  readonly channels: string[] = [];
  status = 'ready';
  ended = 0;
  unreferenced = 0;
  readonly stream = { unref: (): void => this.unref() };
  readonly #onSubscribe: () => Promise<void>;
  #listener: ((message: string) => void) | undefined;

  constructor(onSubscribe: () => Promise<void>) {
    super();
    this.#onSubscribe = onSubscribe;
  }

  async connect(): Promise<void> {}

  async subscribe(channel: string, listener?: (message: string) => void): Promise<void> {
    await this.#onSubscribe();
    this.channels.push(channel);
    this.#listener = listener;
  }

  /** The server sends it to the listener of node-redis, or as an event of ioredis. */
  message(text: string): void {
    if (this.#listener === undefined) this.emit('message', this.channels[0], text);
    else this.#listener(text);
  }

  unref(): void {
    this.unreferenced += 1;
  }

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

/** A client, or a cluster with a node that is away; its calls are noted. */
export class FakeClient {
  readonly calls: unknown[][] = [];
  readonly subscribers: FakeSubscriber[] = [];
  /** The options of its copies. */
  readonly copies: unknown[] = [];
  readonly connection: RedisConnection;
  readonly fields: Record<string, unknown>;
  /** Of its subscribers. */
  onSubscribe: () => Promise<void> = () => Promise.resolve();

  constructor(kind: Kind, cluster = false) {
    const run =
      (name: string) =>
      (...call: unknown[]) => {
        this.calls.push([name, ...call]);
        return Promise.resolve('reply');
      };
    const duplicate = (options: unknown): FakeSubscriber => {
      const subscriber = new FakeSubscriber(() => this.onSubscribe());
      this.copies.push(options);
      this.subscribers.push(subscriber);
      return subscriber;
    };
    const wrong = (): never => {
      throw new Error('a copy of the whole cluster, or of a node that is away');
    };
    const common = { eval: run('eval'), subscribe: () => Promise.resolve(), duplicate };
    if (kind === 'ioredis') {
      const nodes = [
        { status: 'reconnecting', duplicate: wrong, evalsha: run('evalsha') },
        { status: 'ready', duplicate, evalsha: run('evalsha') },
      ];
      this.fields = { ...common, status: 'ready', evalsha: run('evalsha') };
      if (cluster) Object.assign(this.fields, { isCluster: true, nodes: () => nodes });
    } else {
      this.fields = { ...common, isOpen: true, evalSha: run('evalSha') };
      const masters = [{ client: { isReady: false } }, { client: { isReady: true } }];
      const nodeClient = async (node: unknown) => {
        return { duplicate: node === masters[1] ? duplicate : wrong, evalSha: run('evalSha') };
      };
      const [sendCommand, destroy] = [run('sendCommand'), (): void => undefined];
      if (cluster) Object.assign(this.fields, { masters, nodeClient, sendCommand, destroy });
    }
    if (cluster) this.fields['duplicate'] = wrong;
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
