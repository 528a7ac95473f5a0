import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { type RedisConnection } from '../../../../src/index.js';
import { RedisBackend } from '../../../../src/backends/redis/redis-backend.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/wire-text.js';
import { script } from '../../../../src/backends/redis/compose-script.js';
import { errorOf } from '../../../support/rejection.js';

describe('redis backend', () => {
  /** Whose scripts all get one reply, from a server that is found fit. */
  function backend(reply: unknown, rest: Partial<RedisConnection> = {}) {
    const runBySha = () => Promise.resolve(reply);
    const runByText = (text: string) =>
      text === script('check-server').text ? Promise.resolve('1') : runBySha();
    return new RedisBackend({ runBySha, runByText, ...rest });
  }

  const requests = [{ id: 'c.1', permits: 1, wait: false, arrival: undefined }];
  const options = { ttl: 1234.5, label: 'l', notAfter: 1_700_000_000_000.25, requests };
  const call = { key: { prefix: 'p', name: 'n' }, limit: 2, client: 'c', ...options };
  const busy = '1700000000000000|b';

  it('lets semaphores of a server share calls, of a cluster not, and gets no message where it cannot subscribe', () => {
    const single = backend('');
    expect([single.laneOf, single.listen]).to.deep.equal([undefined, undefined]);
    const eachMaster = () => Promise.resolve([]);
    const { laneOf } = backend('', { eachMaster });
    const keys = ['p x', 'p y', 'q x'].map((text) => text.split(' '));
    const lanes = [...keys, ...keys].map(([prefix = '', name = '']) => laneOf?.({ prefix, name }));
    expect(lanes.slice(3)).to.deep.equal(lanes.slice(0, 3));
    expect(new Set(lanes)).to.have.property('size', 3);
  });

  it('sends nothing for no calls', async () => {
    const odd = backend('PONG');
    const replies = await Promise.all([odd.acquire([]), odd.extend([]), odd.release([])]);
    expect(replies).to.deep.equal([[], [], []]);
  });

  it('reads a reply that its client gives as bytes', async () => {
    const [reply] = await backend(Buffer.from(busy)).acquire([call]);
    expect(reply?.verdicts).to.deep.equal([{ kind: 'busy' }]);
  });

  it('does not retry after the reply of another script, or with a closed client', async () => {
    const odd = backend('PONG '.repeat(10_000));
    const error = await errorOf(odd.acquire([call]), UnexpectedReplyError);
    expect(error.message).to.include('unexpected reply').and.have.length.below(300);
    expect(odd.isRetryable(error)).to.equal(false);
    expect(odd.isRetryable(new Error('LOADING x'))).to.equal(true);
    const closed = backend('', { isClosed: () => true });
    expect(closed.isRetryable(new Error('LOADING x'))).to.equal(false);
  });

  it('tries again while a server says that it is read-only, because a failover passes, but not for ever', async () => {
    const word = "READONLY You can't write against a read only replica.";
    const readOnly = new Error(`ERR Error running script: -${word}`);
    const asked = backend(busy);
    const fake = useFakeTimers({ toFake: ['performance'] });
    for (const pause of [0, 4000, 2000]) {
      fake.tick(pause);
      expect(asked.isRetryable(readOnly)).to.equal(pause !== 2000);
    }
    // It was promoted; and another failover, long after that one.
    await asked.acquire([call]);
    fake.tick(60_000);
    expect(asked.isRetryable(new Error(word))).to.equal(true);
  });

  it('takes no notice of messages that concern other clients, or nothing, and hands on how its subscription is', () => {
    const told: unknown[] = [];
    const heard = backend('', {
      subscribe: (channel, events) => {
        told.push(channel);
        const ended = 'another.1 revoked;client.2 revoked|n';
        for (const message of ['garbage', '', ended]) events.onMessage(message);
        events.onHealth(true);
        events.onFailed();
        return { close: () => Promise.resolve() };
      },
    });
    heard.listen?.('client', 'p', {
      onGrants: (grants) => told.push(grants),
      onEnded: (ended) => told.push(...ended.map(({ id }) => id)),
      onHealth: (healthy) => told.push(healthy),
      onFailed: () => told.push('failed'),
    });
    expect(told).to.deep.equal(['p:inbox:client', 'client.2', true, 'failed']);
  });

  it('ends a subscription soon, whatever its close does', async () => {
    const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const rejects = (): Promise<void> => Promise.reject(new Error('the client failed'));
    for (const close of [rejects, () => new Promise<void>(() => {})]) {
      const heard = backend('', { subscribe: () => ({ close }) });
      const listening = heard.listen?.('client', 'p', { onGrants: () => {}, onHealth: () => {} });
      let closed = false;
      void listening?.close().then(() => (closed = true));
      await clock.tickAsync(500);
      expect(closed).to.equal(true);
    }
    expect(clock.countTimers()).to.equal(0);
  });
});
