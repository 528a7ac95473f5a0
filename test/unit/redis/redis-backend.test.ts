import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { RedisBackend } from '../../../src/redis/redis-backend.js';
import { UnexpectedReplyError } from '../../../src/redis/replies.js';
import { fitServer } from './fit-server.js';

describe('redis backend', () => {
  function bench(reply: unknown = '1700000000000000||b|', closed = false) {
    const calls: { keys: readonly string[]; args: readonly string[] }[] = [];
    const run = (_script: string, keys: readonly string[], args: readonly string[]) => {
      calls.push({ keys, args });
      return Promise.resolve(reply);
    };
    const connection = { ...fitServer(run), isClosed: () => closed };
    return { backend: new RedisBackend(connection), calls };
  }

  const call = { key: { prefix: 'p', name: 'n' }, limit: 2, client: 'c' };
  const requests = [{ id: 'c.1', permits: 1, wait: false, arrival: undefined }];
  const asking = { ...call, ttl: 1000, label: 'l', notAfter: undefined, requests };

  it('gives a real server no clock', async () => {
    const { backend, calls } = bench();
    await backend.acquire(asking);
    expect(calls[0]?.args[0]).to.equal('2');
  });

  it('declares the keys of one semaphore, with one hash tag', async () => {
    const { backend, calls } = bench();
    await backend.acquire(asking);
    for (const key of calls[0]?.keys ?? []) expect(key).to.match(/^p:\{n\}:[a-z]+$/);
    expect(calls[0]?.keys).to.include('p:{n}:tickets');
  });

  it('hands on texts only', async () => {
    const { backend, calls } = bench();
    await backend.acquire({ ...asking, ttl: 1234.5, notAfter: 1_700_000_000_000.25 });
    for (const { keys, args } of calls) {
      for (const part of [...keys, ...args]) expect(part).to.be.a('string');
    }
    expect(calls[0]?.args).to.include('1700000000000250');
  });

  it('tells verdicts in the order of the requests, whatever they ask for', async () => {
    const { backend } = bench();
    const mixed = [
      { id: 'c.1', permits: 1, wait: false, arrival: undefined },
      { id: 'c.2', permits: 1, wait: true, arrival: undefined },
      { id: 'c.3', permits: 1, wait: true, arrival: 5 },
      { id: 'c.4', permits: 1, wait: false, arrival: undefined },
      { id: 'c.5', permits: 1, wait: true, arrival: 4 },
    ];
    // Each verdict is the number in the id, as the server sees the ids in its arguments.
    const echo = (_script: string, _keys: readonly string[], args: readonly string[]) => {
      const ids = args.find((arg) => arg.startsWith('c.'))?.split(' ') ?? [];
      return Promise.resolve(`1700000000000000||${ids.map((id) => `q${id.slice(2)}`).join(';')}|`);
    };
    const echoing = new RedisBackend(fitServer(echo));
    const { verdicts } = await echoing.acquire({ ...asking, requests: mixed });
    expect(
      verdicts.map((verdict) => (verdict.kind === 'queued' ? verdict.arrival : 0)),
    ).to.deep.equal([1, 2, 3, 4, 5]);
    expect(backend.isRetryable(new Error('LOADING x'))).to.equal(true);
  });

  it('does not try again what the reply of another script or a closed client would not mend', async () => {
    const { backend } = bench('PONG');
    const error: unknown = await backend.acquire(asking).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(UnexpectedReplyError);
    expect(backend.isRetryable(error)).to.equal(false);
    const closed = bench('', true).backend;
    expect(closed.isRetryable(new Error('The client is closed'))).to.equal(false);
    expect(closed.isRetryable(new Error('LOADING x'))).to.equal(false);
  });

  describe('of a server that says it is read-only', () => {
    const readOnly = new Error("READONLY You can't write against a read only replica.");

    it('tries again, for a failover passes, but not for ever', async () => {
      const { backend } = bench();
      const fake = useFakeTimers({ toFake: ['performance'] });
      try {
        expect(backend.isRetryable(readOnly)).to.equal(true);
        fake.tick(4000);
        expect(backend.isRetryable(readOnly)).to.equal(true);
        fake.tick(2000);
        expect(backend.isRetryable(readOnly)).to.equal(false);
        // It was promoted.
        await backend.acquire(asking);
        expect(backend.isRetryable(readOnly)).to.equal(true);
        // Another failover, long after that one.
        fake.tick(60_000);
        expect(backend.isRetryable(readOnly)).to.equal(true);
      } finally {
        fake.restore();
      }
    });
  });

  it('offers pushes only where the connection can subscribe', () => {
    expect(bench().backend.listen).to.equal(undefined);
  });

  it('reads pushed grants, and takes no notice of messages that are none', async () => {
    const channels: string[] = [];
    const grants: unknown[] = [];
    let push: (message: string) => void = () => {};
    const run = () => Promise.resolve('');
    const backend = new RedisBackend({
      runBySha: run,
      runByText: run,
      subscribe: (channel, events) => {
        channels.push(channel);
        push = (message) => events.onMessage(message);
        events.onHealth(true);
        events.onFailed();
        return { close: () => Promise.resolve() };
      },
    });
    const health: unknown[] = [];
    const listener = {
      onGrants: (given: readonly unknown[]) => grants.push(...given),
      onHealth: (healthy: boolean) => health.push(healthy),
    };
    backend.listen?.('client', 'p', { ...listener, onFailed: () => health.push('failed') });
    push('garbage');
    push('');
    expect(grants).to.deep.equal([]);
    expect(channels).to.deep.equal(['p:inbox:client']);
    expect(health).to.deep.equal([true, 'failed']);
  });
});
