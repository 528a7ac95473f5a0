import { expect } from 'chai';

import { isNodeRedis, nodeRedisConnection } from '../../../../src/redis/adapters/node-redis.js';
import { collected, FakeSubscriber, turn } from './fake-clients.js';

describe('node-redis adapter', () => {
  function client(reply: unknown = 'reply') {
    const calls: unknown[][] = [];
    return {
      calls,
      isOpen: true,
      evalSha: (...call: unknown[]) => {
        calls.push(['evalSha', ...call]);
        return Promise.resolve(reply);
      },
      eval: (...call: unknown[]) => {
        calls.push(['eval', ...call]);
        return Promise.resolve(reply);
      },
    };
  }

  function subscribing() {
    const subscriber = new FakeSubscriber();
    const whole = { ...client(), duplicate: () => subscriber, subscribe: () => Promise.resolve() };
    const connection = nodeRedisConnection(whole);
    const { messages, health, failures, events } = collected();
    const open = () => connection.subscribe?.('p:inbox:c', events);
    return { subscriber, messages, health, failures, open };
  }

  it('is told by the methods, never by the class', () => {
    expect(isNodeRedis(client())).to.equal(true);
    class Odd {
      evalSha(): void {}
      eval(): void {}
    }
    expect(isNodeRedis(new Odd())).to.equal(true);
    expect(isNodeRedis({ evalsha: () => {}, eval: () => {} })).to.equal(false);
    expect(isNodeRedis({ evalSha: 1, eval: () => {} })).to.equal(false);
    expect(isNodeRedis({})).to.equal(false);
  });

  it('hands keys and arguments on as texts, in lists of their own', async () => {
    const fake = client();
    const connection = nodeRedisConnection(fake);
    const keys = Object.freeze(['k1', 'k2']);
    expect(await connection.runBySha('sha', keys, ['a'])).to.equal('reply');
    expect(await connection.runByText('text', keys, [])).to.equal('reply');
    expect(fake.calls).to.deep.equal([
      ['evalSha', 'sha', { keys: ['k1', 'k2'], arguments: ['a'] }],
      ['eval', 'text', { keys: ['k1', 'k2'], arguments: [] }],
    ]);
  });

  it('spares a client that is ready the time limit on writing, and no other', async () => {
    const sent: unknown[][] = [];
    const sendCommand = (...call: unknown[]) => {
      sent.push(call);
      return Promise.resolve(Buffer.from('directly'));
    };
    const { calls, ...methods } = client();
    const pooled = { ...methods, sendCommand, isReady: true };
    const one = { ...pooled, duplicate: () => new FakeSubscriber(), subscribe: sendCommand };
    const ready = nodeRedisConnection(one).runBySha('sha', ['k1', 'k2'], ['a']);
    expect(await ready).to.equal('directly');
    const command = ['EVALSHA', 'sha', '2', 'k1', 'k2', 'a'];
    expect(sent).to.deep.equal([[command, { timeout: undefined }]]);
    expect(calls).to.deep.equal([]);
    const away = { ...one, isReady: false };
    for (const other of [away, pooled]) {
      expect(await nodeRedisConnection(other).runBySha('sha', [], [])).to.equal('reply');
    }
    expect(sent).to.have.length(1);
  });

  it('reads Buffers as texts', async () => {
    const connection = nodeRedisConnection(client(Buffer.from('naïve')));
    expect(await connection.runBySha('sha', [], [])).to.equal('naïve');
    expect(await connection.runByText('text', [], [])).to.equal('naïve');
  });

  it('rejects where a client throws at once', async () => {
    const fake = client();
    fake.evalSha = () => {
      throw new TypeError('at once');
    };
    const running = nodeRedisConnection(fake).runBySha('sha', [], []);
    expect(await running.catch((error: unknown) => error)).to.be.instanceOf(TypeError);
  });

  it('knows a client that its owner closed', () => {
    const fake = client();
    const connection = nodeRedisConnection(fake);
    expect(connection.isClosed?.()).to.equal(false);
    fake.isOpen = false;
    expect(connection.isClosed?.()).to.equal(true);
    const { evalSha, eval: evaluate } = client();
    expect(nodeRedisConnection({ evalSha, eval: evaluate }).isClosed?.()).to.equal(false);
  });

  it('does without pushes where a client cannot be duplicated', () => {
    expect(nodeRedisConnection(client())).not.to.have.property('subscribe');
  });

  it('subscribes on a connection of its own that keeps no process alive', async () => {
    const { subscriber, messages, health, open } = subscribing();
    open();
    await turn();
    subscriber.emit('ready');
    expect(subscriber.channels).to.deep.equal(['p:inbox:c']);
    expect(health).to.include(true);
    expect(subscriber.unreferenced).to.be.at.least(1);
    subscriber.message('hello');
    expect(messages).to.deep.equal(['hello']);
  });

  it('is healthy only once it has subscribed', async () => {
    const { subscriber, health, open } = subscribing();
    let connected: () => void = () => {};
    subscriber.onConnect = () => new Promise((resolve) => (connected = resolve));
    open();
    await turn();
    subscriber.emit('ready');
    expect(health).not.to.include(true);
    connected();
    await turn();
    expect(health.at(-1)).to.equal(true);
  });

  it('says when its connection is lost, and ends it before it reconnects; no error event is left without a listener', async () => {
    const { subscriber, health, open } = subscribing();
    open();
    await turn();
    subscriber.emit('error', new Error('Socket closed unexpectedly'));
    expect(health.at(-1)).to.equal(false);
    expect(subscriber.ended).to.equal(1);
  });

  for (const step of ['onConnect', 'onSubscribe'] as const) {
    it(`says so and ends its connection when ${step.slice(2).toLowerCase()} is refused`, async () => {
      const { subscriber, health, failures, open } = subscribing();
      subscriber[step] = () => Promise.reject(new Error('NOPERM'));
      open();
      await turn();
      expect(health.at(-1)).to.equal(false);
      expect(failures).to.have.length(1);
      expect(subscriber.ended).to.equal(1);
    });
  }

  const settled = {
    'its socket is there': (subscriber: FakeSubscriber) => void subscriber.emit('connect'),
    'it has failed': (subscriber: FakeSubscriber) => void subscriber.emit('error', new Error('x')),
  };
  for (const [when, settle] of Object.entries(settled)) {
    it(`is not ended while it makes its socket, but when ${when}, and says nothing more`, async () => {
      const { subscriber, health, failures, open } = subscribing();
      let fail: (error: Error) => void = () => {};
      subscriber.onConnect = () => new Promise((_resolve, reject) => (fail = reject));
      const subscription = open();
      await turn();
      let closed = false;
      const closing = subscription?.close().then(() => (closed = true));
      await turn();
      expect([subscriber.ended, closed]).to.deep.equal([0, false]);
      settle(subscriber);
      await closing;
      expect(subscriber.ended).to.equal(1);
      fail(new Error('The client is closed'));
      await turn();
      expect(subscriber.channels).to.deep.equal([]);
      expect([...health, ...failures]).to.deep.equal([]);
    });
  }

  it('connects nothing when it is closed before', async () => {
    const { subscriber, open } = subscribing();
    await open()?.close();
    await turn();
    expect(subscriber.connected).to.equal(0);
  });

  it('is ended again when it lives on after an end that never settled', async () => {
    const { subscriber, open } = subscribing();
    let ends = 0;
    Object.assign(subscriber, {
      destroy: () => {
        ends += 1;
        return new Promise(() => {});
      },
    });
    open();
    await turn();
    for (const expected of [1, 2]) {
      subscriber.emit('error', new Error('Socket closed unexpectedly'));
      expect(ends).to.equal(expected);
    }
  });

  it('never rejects when it is closed', async () => {
    const { subscriber, open } = subscribing();
    subscriber.destroy = () => {
      throw new Error('The client is closed');
    };
    const subscription = open();
    await turn();
    await subscription?.close();
  });
});
