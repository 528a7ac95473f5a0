import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { nodeRedisConnection } from '../../../../../src/backends/redis/adapters/node-redis.js';
import { later } from '../../../stub-fixture.js';
import { collected } from './fake-clients.js';

type Listener = (message: string) => void;

/**
 * As `createSentinel` gives it: it answers at once for a channel that it has, without asking the
 * server.
 */
class FakeSentinel extends EventEmitter {
  isOpen = true;
  readonly channels = new Map<string, Listener>();
  asked = 0;
  /** What becomes of a message that is sent to a channel. */
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

  /** Once it has begun. */
  async function subscribing() {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const sentinel = new FakeSentinel();
    const told = collected();
    const subscription = nodeRedisConnection(sentinel).subscribe?.('p:inbox:c', told.events);
    await clock.tickAsync(0);
    /** What it asks from now on is answered only then. */
    const holdAnswers = () => {
      const { promise, resolve } = later<void>();
      sentinel.answer = () => promise;
      return resolve;
    };
    const close = async (): Promise<void> => subscription?.close();
    return { clock, sentinel, ...told, holdAnswers, close };
  }

  it('hears on the client itself, which is as it was once that is closed', async () => {
    const { sentinel, messages, health, close } = await subscribing();
    expect([health, [...sentinel.channels.keys()]]).to.deep.equal([[true], ['p:inbox:c']]);
    sentinel.channels.get('p:inbox:c')?.('hello');
    expect(messages).to.deep.equal(['hello']);
    sentinel.emit('topology-change', { type: 'REPLICA_ADD' });
    sentinel.emit('topology-change', undefined);
    await close();
    expect([sentinel.channels.size, sentinel.eventNames()]).to.deep.equal([0, []]);
    expect(health).to.deep.equal([true]);
  });

  for (const [title, event, what] of [
    ['an error', 'error', new Error('Socket closed unexpectedly')],
    ['a new master', 'topology-change', moved],
  ] as const) {
    it(`is healthy again after ${title} only once the server has answered`, async () => {
      const { clock, sentinel, health, holdAnswers } = await subscribing();
      const answer = holdAnswers();
      // It may have forgotten the channel.
      sentinel.channels.clear();
      sentinel.emit(event, what);
      await clock.tickAsync(0);
      expect(health).to.deep.equal([true, false]);
      answer();
      await clock.tickAsync(0);
      expect([health, sentinel.channels.size]).to.deep.equal([[true, false, true], 1]);
    });
  }

  it('tries again after a failure, and after a refusal says so instead', async () => {
    const { clock, sentinel, failures } = await subscribing();
    const { asked: before } = sentinel;
    sentinel.answer = () => Promise.reject(new Error('Disconnects client'));
    sentinel.emit('topology-change', moved);
    await clock.tickAsync(1000);
    expect(sentinel.asked - before).to.be.within(3, 10);
    expect(failures).to.have.length(0);
    sentinel.answer = () => Promise.reject(new Error('NOPERM no permissions'));
    await clock.tickAsync(1000);
    const { asked } = sentinel;
    await clock.tickAsync(10_000);
    expect([sentinel.asked, failures]).to.deep.equal([asked, ['failed']]);
  });
});

/** Says what ioredis says while its status changes. */
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

  beforeEach(() => {
    client = new FakeIoredis();
    const connection = ioredisConnection(client);
    isClosed = () => connection.isClosed?.();
  });

  it('is connected again when it ends while it asks for the master, once until it was ready', async () => {
    client.status = 'end';
    // Reported with the next tick, after its commands were rejected.
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

  for (const status of ['connect', 'close', 'manuallyClosing']) {
    it(`is left alone when it ends after ${status}`, async () => {
      if (status === 'manuallyClosing') client.manuallyClosing = true;
      else client.become(status);
      client.become('end');
      await turn();
      expect([client.connects, isClosed()]).to.deep.equal([0, true]);
    });
  }

  it('is left to its own listener that connects it', async () => {
    client.on('end', () => void client.connect().catch(() => undefined));
    client.become('end');
    await turn();
    expect([client.connects, isClosed()]).to.deep.equal([1, false]);
  });

  it('is listened to, and no other', () => {
    for (const options of [{}, { sentinels: [{}] }, { sentinels: [{}], failoverDetector: false }]) {
      const other = Object.assign(new FakeIoredis(), { options });
      ioredisConnection(other);
      expect(other.eventNames()).to.deep.equal([]);
    }
  });
});
