import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';
import { later } from '../../../stub-fixture.js';
import { collected } from './fake-clients.js';

type Listener = (message: string) => void;

/** As of `createSentinel`: it answers at once for a channel that it has, without the server. */
class FakeSentinel extends EventEmitter {
  isOpen = true;
  readonly channels = new Map<string, Listener>();
  asked = 0;
  /** The answer to PUBLISH. */
  answer: () => Promise<void> = () => Promise.resolve();
  readonly evalSha = (): Promise<unknown> => Promise.resolve('reply');
  readonly use = (): void => {};
  readonly setTracer = (): void => {};

  async eval(_script: string, options: { arguments: string[] }): Promise<unknown> {
    const [channel, message] = options.arguments;
    if (channel === undefined || message === undefined) return 1;
    this.asked += 1;
    await this.answer();
    this.channels.get(channel)?.(message);
    return 1;
  }

  subscribe(channel: string, listener: Listener): Promise<void> {
    if (!this.channels.has(channel)) this.channels.set(channel, listener);
    return Promise.resolve();
  }

  unsubscribe(channel: string): Promise<void> {
    this.channels.delete(channel);
    return Promise.resolve();
  }
}

describe('node-redis sentinel, subscribed', () => {
  const moved = { type: 'MASTER_CHANGE' };

  /** A subscription that has begun. */
  async function subscribing() {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const sentinel = new FakeSentinel();
    const told = collected();
    const subscription = nodeRedisConnection(sentinel).subscribe?.('p:inbox:c', told.events);
    await clock.tickAsync(0);
    return { clock, sentinel, ...told, close: async () => subscription?.close() };
  }

  it('hears on the client itself, is healthy after an error or with a new master only once the server has answered, and leaves no trace', async () => {
    const { clock, sentinel, messages, health, close } = await subscribing();
    expect([health, [...sentinel.channels.keys()]]).to.deep.equal([[true], ['p:inbox:c']]);
    sentinel.channels.get('p:inbox:c')?.('hello');
    expect(messages).to.deep.equal(['hello']);
    sentinel.emit('topology-change', { type: 'REPLICA_ADD' });
    sentinel.emit('topology-change', undefined);
    for (const [event, what] of [
      ['error', new Error('Socket closed unexpectedly')],
      ['topology-change', moved],
    ] as const) {
      expect(health.splice(0)).to.deep.equal([true]);
      const { promise, resolve: answer } = later<void>();
      sentinel.answer = () => promise;
      // It may have forgotten the channel.
      sentinel.channels.clear();
      sentinel.emit(event, what);
      await clock.tickAsync(0);
      expect(health.splice(0)).to.deep.equal([false]);
      answer();
      // The next attempt comes after a pause.
      await clock.tickAsync(250);
      expect(sentinel.channels.size).to.equal(1);
    }
    await close();
    expect([sentinel.channels.size, sentinel.eventNames()]).to.deep.equal([0, []]);
    expect(health).to.deep.equal([true]);
  });

  it('tries again after a failure, and after a refusal says so instead', async () => {
    const { clock, sentinel, failures } = await subscribing();
    const { asked: before } = sentinel;
    sentinel.answer = () => Promise.reject(new Error('Disconnects client'));
    sentinel.emit('topology-change', moved);
    await clock.tickAsync(4000);
    expect(sentinel.asked - before).to.be.within(3, 10);
    expect(failures).to.have.length(0);
    sentinel.answer = () => Promise.reject(new Error('NOPERM no permissions'));
    await clock.tickAsync(2000);
    const { asked } = sentinel;
    await clock.tickAsync(10_000);
    expect([sentinel.asked, failures]).to.deep.equal([asked, ['failed']]);
  });
});

/** It emits the events of ioredis while its status changes. */
class FakeIoredis extends EventEmitter {
  options: object = { sentinels: [{}], failoverDetector: true };
  status = 'connecting';
  manuallyClosing = false;
  connects = 0;
  readonly evalsha = (): Promise<unknown> => Promise.resolve();
  readonly eval = (): Promise<unknown> => Promise.resolve();

  connect(): Promise<unknown> {
    this.connects += 1;
    this.become('connecting');
    return Promise.reject(new Error('Connection is closed.'));
  }

  become(...statuses: string[]): void {
    for (const status of statuses) {
      this.status = status;
      this.emit(status);
    }
  }
}

describe('an ioredis client that detects failovers', () => {
  let client: FakeIoredis;
  let isClosed: () => boolean | undefined;

  beforeEach(start);

  function start(): void {
    client = new FakeIoredis();
    const connection = ioredisConnection(client);
    isClosed = () => connection.isClosed?.();
  }

  it('is connected again when it ends while it asks for the master, once until it was ready', async () => {
    client.status = 'end';
    // ioredis reports it with the next tick, after it has rejected its commands.
    expect(isClosed()).to.equal(false);
    client.emit('end');
    await turn();
    expect([client.connects, client.status, isClosed()]).to.deep.equal([1, 'connecting', false]);
    client.become('end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([1, true]);
    client.become('connecting', 'connect', 'ready', 'close', 'reconnecting', 'connecting', 'end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([2, false]);
  });

  it('is left alone when it ends after it was connected or closed, and to its own listener that connects it; no other is listened to', async () => {
    for (const status of ['connect', 'close', 'manuallyClosing', 'its own listener']) {
      start();
      const isOwn = status === 'its own listener';
      if (isOwn) client.on('end', () => void client.connect().catch(() => undefined));
      else if (status === 'manuallyClosing') client.manuallyClosing = true;
      else client.become(status);
      client.become('end');
      await turn();
      expect([client.connects, isClosed()], status).to.deep.equal(isOwn ? [1, false] : [0, true]);
    }
    for (const options of [{}, { sentinels: [{}] }, { sentinels: [{}], failoverDetector: false }]) {
      const other = Object.assign(new FakeIoredis(), { options });
      ioredisConnection(other);
      expect(other.eventNames()).to.deep.equal([]);
    }
  });
});
