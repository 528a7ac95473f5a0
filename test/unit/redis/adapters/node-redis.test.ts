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

  it('tells of a lost connection and of its return; no error event is left without a listener', async () => {
    const { subscriber, health, open } = subscribing();
    open();
    await turn();
    subscriber.emit('error', new Error('Socket closed unexpectedly'));
    expect(health.at(-1)).to.equal(false);
    subscriber.emit('ready');
    expect(health.at(-1)).to.equal(true);
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

  it('ends its connection when it is closed, also while it connects, and says nothing more', async () => {
    const { subscriber, health, open } = subscribing();
    let connected: () => void = () => {};
    subscriber.onConnect = () => new Promise((resolve) => (connected = resolve));
    const subscription = open();
    await subscription?.close();
    connected();
    await turn();
    expect(subscriber.channels).to.deep.equal([]);
    expect(subscriber.ended).to.be.at.least(1);
    expect(health).not.to.include(true);
  });

  it('does not speak against its successor when its connecting fails after it was closed', async () => {
    const { subscriber, health, failures, open } = subscribing();
    let fail: (error: Error) => void = () => {};
    subscriber.onConnect = () => new Promise((_resolve, reject) => (fail = reject));
    const subscription = open();
    await subscription?.close();
    subscriber.emit('error', new Error('Socket closed unexpectedly'));
    fail(new Error('The client is closed'));
    await turn();
    expect([...health, ...failures]).to.deep.equal([]);
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
