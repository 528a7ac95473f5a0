import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';
import { later } from '../../../stub-fixture.js';
import { subscription } from './fake-clients.js';

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

  async subscribe(channel: string, listener: Listener): Promise<void> {
    if (!this.channels.has(channel)) this.channels.set(channel, listener);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.channels.delete(channel);
  }
}

describe('node-redis sentinel, subscribed', () => {
  const moved = { type: 'MASTER_CHANGE' };

  /** A subscription that has begun. */
  async function subscribing() {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const sentinel = new FakeSentinel();
    const subscribed = subscription(nodeRedisConnection(sentinel));
    await clock.tickAsync(0);
    expect(subscribed.told.splice(0)).to.deep.equal([true]);
    return { clock, sentinel, ...subscribed };
  }

  it('hears on the client itself, is healthy after an error or with a new master only once the server has answered, and leaves no trace', async () => {
    const { clock, sentinel, told, close } = await subscribing();
    expect([...sentinel.channels.keys()]).to.deep.equal(['p:inbox:c']);
    sentinel.channels.get('p:inbox:c')?.('hello');
    expect(told.splice(0)).to.deep.equal(['hello']);
    sentinel.emit('topology-change', { type: 'REPLICA_ADD' });
    sentinel.emit('topology-change', undefined);
    for (const [event, what] of [
      ['error', new Error('Socket closed unexpectedly')],
      ['topology-change', moved],
    ] as const) {
      const { promise, resolve: answer } = later<void>();
      sentinel.answer = () => promise;
      // It may have forgotten the channel.
      sentinel.channels.clear();
      sentinel.emit(event, what);
      await clock.tickAsync(0);
      expect(told.splice(0)).to.deep.equal([false]);
      answer();
      // The next attempt comes after a pause.
      await clock.tickAsync(250);
      expect([sentinel.channels.size, ...told.splice(0)]).to.deep.equal([1, true]);
    }
    await close();
    expect([sentinel.channels.size, sentinel.eventNames(), told]).to.deep.equal([0, [], []]);
  });

  it('tries again after a failure, and after a refusal says so instead', async () => {
    const { clock, sentinel, told } = await subscribing();
    const { asked: before } = sentinel;
    sentinel.answer = () => Promise.reject(new Error('Disconnects client'));
    sentinel.emit('topology-change', moved);
    await clock.tickAsync(4000);
    expect(sentinel.asked - before).to.be.within(3, 10);
    expect(told.filter(Boolean)).to.deep.equal([]);
    sentinel.answer = () => Promise.reject(new Error('NOPERM no permissions'));
    await clock.tickAsync(2000);
    const { asked } = sentinel;
    await clock.tickAsync(10_000);
    expect([sentinel.asked, told.filter(Boolean)]).to.deep.equal([asked, ['failed']]);
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

it('an ioredis client that detects failovers is connected again when it ends while it asks for the master, once until it was ready', async () => {
  const client = new FakeIoredis();
  const connection = ioredisConnection(client);
  client.status = 'end';
  // ioredis reports it with the next tick, after it has rejected its commands.
  expect(connection.isClosed?.()).to.equal(false);
  client.emit('end');
  await turn();
  expect([client.connects, client.status]).to.deep.equal([1, 'connecting']);
  expect(connection.isClosed?.()).to.equal(false);
  client.become('end');
  await turn();
  expect([client.connects, connection.isClosed?.()]).to.deep.equal([1, true]);
  client.become('connecting', 'connect', 'ready', 'close', 'reconnecting', 'connecting', 'end');
  await turn();
  expect([client.connects, connection.isClosed?.()]).to.deep.equal([2, false]);
});

it('an ioredis client is left alone when it ends after it was connected or closed, and to its own listener; a client that detects no failover is not listened to', async () => {
  for (const status of ['connect', 'close', 'manuallyClosing', 'its own listener']) {
    const client = new FakeIoredis();
    const connection = ioredisConnection(client);
    const isOwn = status === 'its own listener';
    if (isOwn) client.on('end', () => void client.connect().catch(() => undefined));
    else if (status === 'manuallyClosing') client.manuallyClosing = true;
    else client.become(status);
    client.become('end');
    await turn();
    const ends = [client.connects, connection.isClosed?.()];
    expect(ends, status).to.deep.equal(isOwn ? [1, false] : [0, true]);
  }
  for (const options of [{}, { sentinels: [{}] }, { sentinels: [{}], failoverDetector: false }]) {
    const other = Object.assign(new FakeIoredis(), { options });
    ioredisConnection(other);
    expect(other.eventNames()).to.deep.equal([]);
  }
});
