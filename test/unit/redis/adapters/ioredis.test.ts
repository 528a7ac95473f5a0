import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { useFakeTimers } from 'sinon';

import { ioredisConnection, isIoredis } from '../../../../src/redis/adapters/ioredis.js';
import { pickLoopbackPort } from '../../../support/loopback-port.js';
import { moment } from '../../../support/moment.js';
import { collected, FakeSubscriber, turn } from './fake-clients.js';

describe('ioredis adapter', () => {
  function client(reply: unknown = 'reply') {
    const calls: unknown[][] = [];
    return {
      calls,
      status: 'ready',
      evalsha: (...call: unknown[]) => {
        calls.push(['evalsha', ...call]);
        return Promise.resolve(reply);
      },
      eval: (...call: unknown[]) => {
        calls.push(['eval', ...call]);
        return Promise.resolve(reply);
      },
    };
  }

  class Subscriber extends FakeSubscriber {
    readonly stream = { unref: (): void => void (this.unreferenced += 1) };
    status = 'ready';
    // Its `disconnect` returns nothing; the end comes later.
    override disconnect(): never {
      this.ended += 1;
      this.status = 'end';
      setImmediate(() => this.emit('end'));
      return undefined as never;
    }
  }

  function subscribing() {
    const subscriber = new Subscriber();
    const connection = ioredisConnection({
      ...client(),
      duplicate: () => subscriber,
      subscribe: () => Promise.resolve(),
    } as Parameters<typeof ioredisConnection>[0]);
    const { messages, health, failures, events } = collected();
    const open = () => connection.subscribe?.('p:inbox:c', events);
    return { subscriber, messages, health, failures, open };
  }

  it('is told by the methods, never by the class', () => {
    expect(isIoredis(client())).to.equal(true);
    expect(isIoredis({ evalSha: () => {}, eval: () => {} })).to.equal(false);
    expect(isIoredis({ evalsha: () => {} })).to.equal(false);
  });

  it('hands keys and arguments on as texts', async () => {
    const fake = client();
    const connection = ioredisConnection(fake);
    await connection.runBySha('sha', ['k1', 'k2'], ['a', 'b']);
    await connection.runByText('text', ['k1'], []);
    expect(fake.calls).to.deep.equal([
      ['evalsha', 'sha', 2, 'k1', 'k2', 'a', 'b'],
      ['eval', 'text', 1, 'k1'],
    ]);
  });

  it('reads Buffers as texts', async () => {
    expect(await ioredisConnection(client(Buffer.from('ü'))).runBySha('sha', [], [])).to.equal('ü');
  });

  it('rejects where a client throws at once, as its mock does', async () => {
    const fake = client();
    fake.evalsha = () => {
      throw new Error('NOSCRIPT');
    };
    const running = ioredisConnection(fake).runBySha('sha', [], []);
    expect(await running.catch((error: unknown) => String(error))).to.equal('Error: NOSCRIPT');
  });

  it('knows a client that was closed for good, and one that only lost its connection', () => {
    const fake = client();
    const connection = ioredisConnection(fake);
    for (const status of ['wait', 'connecting', 'ready', 'reconnecting', 'close']) {
      fake.status = status;
      expect(connection.isClosed?.(), status).to.equal(false);
    }
    fake.status = 'end';
    expect(connection.isClosed?.()).to.equal(true);
  });

  it('gives a real server no clock of its own', () => {
    expect(ioredisConnection(client()).serverClock).to.equal(undefined);
    const like = { ...client(), shaScripts: {}, keyData: {} };
    expect(ioredisConnection(like).serverClock).to.equal(undefined);
  });

  it('gives the mock a clock, for its TIME runs backwards', () => {
    const { evalsha, eval: evaluate } = client();
    const mock = { evalsha, eval: evaluate, shaScripts: {}, keyData: {} };
    const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    expect(ioredisConnection(mock).serverClock?.()).to.equal(now);
  });

  it('does without pushes where a client cannot be duplicated', () => {
    expect(ioredisConnection(client())).not.to.have.property('subscribe');
  });

  it('subscribes on a connection of its own that keeps no process alive', async () => {
    const { subscriber, messages, health, open } = subscribing();
    open();
    await turn();
    expect(subscriber.channels).to.deep.equal(['p:inbox:c']);
    expect(health).to.deep.equal([true]);
    expect(subscriber.unreferenced).to.be.at.least(1);
    subscriber.message('hello');
    expect(messages).to.deep.equal(['hello']);
  });

  it('is healthy only once it has subscribed, and says when its connection has ended', async () => {
    const { subscriber, health, open } = subscribing();
    let subscribed: () => void = () => {};
    subscriber.onSubscribe = () => new Promise((resolve) => (subscribed = resolve));
    open();
    await turn();
    subscriber.emit('ready');
    expect(health).to.deep.equal([]);
    subscribed();
    await turn();
    expect(health).to.deep.equal([true]);
    subscriber.emit('error', new Error('what does not end it'));
    expect(health).to.deep.equal([true]);
    subscriber.emit('close');
    expect(health).to.deep.equal([true, false]);
    await turn();
    expect(subscriber.ended).to.equal(1);
  });

  it('is a copy that ends with its connection and keeps no process waiting for a goodbye', async () => {
    const made: Record<string, unknown>[] = [];
    const duplicate = (options: Record<string, unknown>): Subscriber => {
      made.push(options);
      return new Subscriber();
    };
    const whole = { ...client(), duplicate, subscribe: () => Promise.resolve() };
    const { events } = collected();
    await ioredisConnection(whole).subscribe?.('p:inbox:c', events).close();
    const [{ retryStrategy, ...options } = {}] = made;
    expect((retryStrategy as () => unknown)()).to.equal(null);
    expect(options).to.include({ disconnectTimeout: 1, failoverDetector: false });
  });

  it('says so when it is refused', async () => {
    const { subscriber, health, failures, open } = subscribing();
    subscriber.onSubscribe = () => Promise.reject(new Error('NOPERM'));
    open();
    await turn();
    expect(health).to.deep.equal([false]);
    expect(failures).to.have.length(1);
  });

  it('does not speak against its successor when it is refused after it was closed', async () => {
    const { subscriber, health, failures, open } = subscribing();
    let refuse: (error: Error) => void = () => {};
    subscriber.onSubscribe = () => new Promise((_resolve, reject) => (refuse = reject));
    const subscription = open();
    await subscription?.close();
    refuse(new Error('NOPERM'));
    await turn();
    expect([...health, ...failures]).to.deep.equal([]);
  });

  it('says nothing more once it is closed', async () => {
    const { subscriber, health, open } = subscribing();
    const subscription = open();
    await turn();
    health.splice(0);
    await subscription?.close();
    subscriber.emit('close');
    subscriber.emit('ready');
    expect(health).to.deep.equal([]);
    expect(subscriber.ended).to.equal(1);
  });

  const away = (port: number) => ({ port, host: '127.0.0.1', retryStrategy: () => 60_000 });
  for (const [major, open] of [
    ['5', (port: number) => new Redis(away(port))],
    ['6', (port: number) => new Redis6(away(port))],
  ] as const) {
    for (const pause of [0, 30, 200]) {
      it(`of ioredis ${major} closes while the server is away, ${pause} ms after it was made`, async () => {
        const offline = open(await pickLoopbackPort());
        offline.on('error', () => {});
        const { events } = collected();
        const subscription = ioredisConnection(offline).subscribe?.('p:inbox:c', events);
        await moment(pause);
        await subscription?.close();
        offline.disconnect();
      });
    }
  }
});
