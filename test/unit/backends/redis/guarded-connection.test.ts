import { expect } from 'chai';
import { spy, useFakeTimers } from 'sinon';

import type {
  RedisConnection,
  SubscriptionEvents,
} from '../../../../src/backends/redis/connection.js';
import { guardedConnection } from '../../../../src/backends/redis/guarded-connection.js';
import { collected, turn } from './adapters/fake-clients.js';

const scripts = {
  runBySha: () => Promise.resolve('by sha'),
  runByText: () => Promise.resolve('by text'),
};

function fail(): never {
  throw new Error('the client failed');
}

describe('a connection that somebody else has written', () => {
  function guarded(subscribe: NonNullable<RedisConnection['subscribe']>) {
    const { messages, health, failures, events } = collected();
    const subscription = guardedConnection({ ...scripts, subscribe }).subscribe?.('c', events);
    return { messages, health, failures, subscription };
  }

  it('has what it had, and no more; is taken for open where it cannot say', async () => {
    const plain = guardedConnection(scripts);
    expect(plain).to.not.have.any.keys('subscribe', 'replication', 'eachMaster');
    expect([plain.serverClock, plain.isClosed?.()]).to.deep.equal([undefined, false]);
    const replication = () => () => Promise.resolve(1);
    const eachMaster = () => Promise.resolve([scripts]);
    const whole = { ...scripts, replication, eachMaster, serverClock: () => 7 };
    const guard = guardedConnection({ ...whole, isClosed: () => true });
    expect([typeof guard.replication, guard.serverClock?.()]).to.deep.equal(['function', 7]);
    expect([guard.isClosed?.(), await guard.eachMaster?.()]).to.deep.equal([true, [scripts]]);
    expect(guardedConnection({ ...whole, isClosed: fail }).isClosed?.()).to.equal(false);
  });

  it('is heard in order, what it says at once too, but not before subscribing has returned', async () => {
    const { failures, subscription } = guarded(fail);
    expect(failures).to.have.length(0);
    await turn();
    expect(failures, 'thrown').to.have.length(1);
    await subscription?.close();
    const { messages, health } = guarded((_channel, events) => {
      events.onHealth(true);
      events.onMessage('early');
      void turn().then(() => events.onMessage('later'));
      return { close: () => Promise.resolve() };
    });
    expect(health).to.deep.equal([]);
    await turn();
    await turn();
    expect([health, messages]).to.deep.equal([[true], ['early', 'later']]);
  });

  it('is not heard once it has failed, nor once it is closed', async () => {
    for (const end of ['failed', 'closed']) {
      let spoken: SubscriptionEvents | undefined;
      const { messages, health, failures, subscription } = guarded((_channel, events) => {
        spoken = events;
        return { close: () => Promise.resolve() };
      });
      await turn();
      if (end === 'failed') spoken?.onFailed();
      else await subscription?.close();
      failures.splice(0);
      spoken?.onMessage('late');
      spoken?.onHealth(true);
      spoken?.onFailed();
      expect([...messages, ...health, ...failures], end).to.deep.equal([]);
    }
  });

  it('is closed soon, whatever its close does', async () => {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const [set, cleared] = [spy(globalThis, 'setTimeout'), spy(globalThis, 'clearTimeout')];
    const rejects = (): Promise<void> => Promise.reject(new Error('the client failed'));
    for (const close of [fail, rejects, () => new Promise<void>(() => {})]) {
      const { subscription } = guarded(() => ({ close }));
      let closed = false;
      void subscription?.close().then(() => (closed = true));
      await clock.tickAsync(500);
      expect(closed).to.equal(true);
    }
    // Tests before this one may have timers, too.
    const own = set.getCalls().filter(({ args }) => args[1] === 200);
    expect(own.length).to.be.at.least(2);
    for (const { returnValue } of own) expect(cleared.calledWith(returnValue)).to.equal(true);
  });
});
