import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import type { RedisConnection } from '../../../../src/index.js';
import { RedisBackend } from '../../../../src/backends/redis/redis-backend.js';
import { UnexpectedReplyError } from '../../../../src/backends/redis/replies.js';
import { checkServerScript } from '../../../../src/backends/redis/scripts.js';
import { errorOf } from '../../../support/rejection.js';

describe('redis backend', () => {
  /** Whose scripts all get one reply, from a server that is found fit. */
  function backend(reply: unknown, rest: Partial<RedisConnection> = {}) {
    const calls: (readonly string[])[] = [];
    const run: RedisConnection['runBySha'] = (_script, keys, args) => {
      calls.push([...keys, ...args]);
      return Promise.resolve(reply);
    };
    const runByText: typeof run = (text, ...call) =>
      text === checkServerScript.text ? Promise.resolve('1') : run(text, ...call);
    return { backend: new RedisBackend({ runBySha: run, runByText, ...rest }), calls };
  }

  const requests = [{ id: 'c.1', permits: 1, wait: false, arrival: undefined }];
  const options = { ttl: 1234.5, label: 'l', notAfter: 1_700_000_000_000.25, requests };
  const call = { key: { prefix: 'p', name: 'n' }, limit: 2, client: 'c', ...options };
  const busy = '1700000000000000|b';

  it('hands on texts only, the keys of one hash tag, times in microseconds, and no clock', async () => {
    const { backend: asked, calls } = backend(busy);
    await asked.acquire([call]);
    const [all = []] = calls;
    for (const part of all) expect(part).to.be.a('string');
    expect(all).to.include.members(['p:{n}:tickets', 'p:{n}:meta', '2', '1700000000000250']);
    expect(asked.listen, 'where the connection cannot subscribe').to.equal(undefined);
  });

  it('lets semaphores of one server share calls, and of a cluster none', () => {
    expect(backend('').backend.laneOf).to.equal(undefined);
    const eachMaster = () => Promise.resolve([]);
    const { laneOf } = backend('', { eachMaster }).backend;
    const keys = ['p x', 'p y', 'q x'].map((text) => text.split(' '));
    const lanes = [...keys, ...keys].map(([prefix = '', name = '']) => laneOf?.({ prefix, name }));
    expect(lanes.slice(3)).to.deep.equal(lanes.slice(0, 3));
    expect(new Set(lanes)).to.have.property('size', 3);
  });

  it('does not retry after the reply of another script, or with a closed client', async () => {
    const { backend: odd } = backend('PONG');
    const error = await errorOf(odd.acquire([call]), UnexpectedReplyError);
    expect(odd.isRetryable(error)).to.equal(false);
    expect(odd.isRetryable(new Error('LOADING x'))).to.equal(true);
    const closed = backend('', { isClosed: () => true }).backend;
    expect(closed.isRetryable(new Error('LOADING x'))).to.equal(false);
  });

  it('tries again while a server says that it is read-only, because a failover passes, but not for ever', async () => {
    const word = "READONLY You can't write against a read only replica.";
    const readOnly = new Error(`ERR Error running script: -${word}`);
    const { backend: asked } = backend(busy);
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

  it('takes no notice of messages that are no grants, and hands on how its subscription is', () => {
    const told: unknown[] = [];
    const { backend: heard } = backend('', {
      subscribe: (channel, events) => {
        told.push(channel);
        for (const message of ['garbage', '']) events.onMessage(message);
        events.onHealth(true);
        events.onFailed();
        return { close: () => Promise.resolve() };
      },
    });
    heard.listen?.('client', 'p', {
      onGrants: (grants) => told.push(grants),
      onHealth: (healthy) => told.push(healthy),
      onFailed: () => told.push('failed'),
    });
    expect(told).to.deep.equal(['p:inbox:client', true, 'failed']);
  });
});
