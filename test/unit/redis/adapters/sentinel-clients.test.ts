import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { nodeRedisConnection } from '../../../../src/redis/adapters/node-redis.js';
import { collected, turn } from './fake-clients.js';

type Listener = (message: string) => void;

/** As `createSentinel` gives it: it answers at once for a channel that it has, without asking the server. */
class FakeSentinel extends EventEmitter {
  readonly isOpen = true;
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

describe('node-redis sentinel', () => {
  function subscribing() {
    const sentinel = new FakeSentinel();
    const { messages, health, failures, events } = collected();
    const open = () => nodeRedisConnection(sentinel).subscribe?.('p:inbox:c', events);
    return { sentinel, messages, health, failures, open };
  }

  it('subscribes on the client itself', async () => {
    const { sentinel, messages, health, open } = subscribing();
    open();
    await turn();
    expect(health).to.deep.equal([true]);
    expect([...sentinel.channels.keys()]).to.deep.equal(['p:inbox:c']);
    sentinel.channels.get('p:inbox:c')?.('hello');
    expect(messages).to.deep.equal(['hello']);
  });

  const troubles: Record<string, [event: string, what: unknown]> = {
    'an error': ['error', new Error('Socket closed unexpectedly')],
    'a new master': ['topology-change', { type: 'MASTER_CHANGE' }],
  };
  for (const [title, [event, what]] of Object.entries(troubles)) {
    it(`is healthy again after ${title} only once the server has answered`, async () => {
      const { sentinel, health, open } = subscribing();
      open();
      await turn();
      let answered: () => void = () => {};
      sentinel.answer = () => new Promise((resolve) => (answered = resolve));
      const { asked } = sentinel;
      sentinel.emit(event, what);
      await turn();
      expect(health).to.deep.equal([true, false]);
      expect(sentinel.asked).to.equal(asked + 1);
      answered();
      await turn();
      expect(health).to.deep.equal([true, false, true]);
    });
  }

  it('subscribes again where the client has forgotten it', async () => {
    const { sentinel, open } = subscribing();
    open();
    await turn();
    sentinel.channels.clear();
    sentinel.emit('topology-change', { type: 'MASTER_CHANGE' });
    await turn();
    expect([...sentinel.channels.keys()]).to.deep.equal(['p:inbox:c']);
  });

  it('does not mind a change of replicas or sentinels', async () => {
    const { sentinel, health, open } = subscribing();
    open();
    await turn();
    sentinel.emit('topology-change', { type: 'REPLICA_ADD' });
    sentinel.emit('topology-change', undefined);
    expect(health).to.deep.equal([true]);
  });

  it('tries again after a failure, and after a refusal says so instead', async () => {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sentinel, health, failures, open } = subscribing();
    sentinel.answer = () => Promise.reject(new Error('Disconnects client'));
    open();
    await clock.tickAsync(1000);
    expect(sentinel.asked).to.be.within(3, 10);
    expect(new Set(health)).to.deep.equal(new Set([false]));
    expect(failures).to.have.length(0);
    sentinel.answer = () => Promise.reject(new Error('NOPERM no permissions'));
    await clock.tickAsync(1000);
    const { asked } = sentinel;
    await clock.tickAsync(10_000);
    expect(sentinel.asked).to.equal(asked);
    expect(failures).to.have.length(1);
  });

  it('leaves nothing behind when it is closed, and says nothing more', async () => {
    const { sentinel, health, open } = subscribing();
    const subscription = open();
    await turn();
    await subscription?.close();
    expect(sentinel.channels.size).to.equal(0);
    expect(sentinel.listenerCount('error')).to.equal(0);
    expect(sentinel.listenerCount('topology-change')).to.equal(0);
    expect(health).to.deep.equal([true]);
  });

  it('is ended only once its connection is known to stand, and again where that broke meanwhile', async () => {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { sentinel, open } = subscribing();
    const subscription = open();
    await clock.tickAsync(0);
    let answered: () => void = () => {};
    sentinel.answer = () => new Promise((resolve) => (answered = resolve));
    sentinel.emit('error', new Error('Socket closed unexpectedly'));
    let tries = 0;
    sentinel.unsubscribe = () => {
      tries += 1;
      if (tries === 1) return Promise.reject(new Error('Socket closed unexpectedly'));
      sentinel.channels.clear();
      return Promise.resolve();
    };
    const closing = subscription?.close();
    await clock.tickAsync(100);
    expect(tries).to.equal(0);
    sentinel.answer = () => Promise.resolve();
    answered();
    await clock.tickAsync(1000);
    await closing;
    expect([tries, sentinel.channels.size]).to.deep.equal([2, 0]);
  });

  it('waits for the end of the one before', async () => {
    const { sentinel, health, open } = subscribing();
    const before = open();
    await turn();
    let ended: () => void = () => {};
    sentinel.unsubscribe = () => new Promise((resolve) => (ended = resolve));
    const closing = before?.close();
    health.splice(0);
    open();
    await turn();
    expect(health).to.deep.equal([]);
    sentinel.channels.clear();
    ended();
    await closing;
    await turn();
    expect(health).to.deep.equal([true]);
  });
});
