import { expect } from 'chai';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import RedisMock from 'ioredis-mock';
import { createClient, createCluster, createSentinel } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import type { RedisConnection } from '../../src/index.js';
import { MemoryBackend, quorum, Semaphore } from '../../src/index.js';
import { MAX_PERMITS_PER_CALL } from '../../src/backends/quorum/asking.js';
import { QuorumBackend } from '../../src/backends/quorum/quorum-backend.js';
import { nodeName } from '../../src/backends/quorum/node-name.js';
import { backendOf } from '../../src/clients.js';
import type { RedisTarget } from '../../src/clients.js';
import { collectUntil } from '../support/garbage.js';
import { errorOf } from '../support/rejection.js';

const lazyConnect = true;

function client(): RedisConnection {
  const never = (): Promise<never> => Promise.reject(new Error('not connected'));
  return { runBySha: never, runByText: never };
}

describe('an array of clients', () => {
  it('is one backend in any array, another backend in another order, and keeps no client', async () => {
    const [a, b, c] = [client(), client(), client()];
    const backend = backendOf([a, b, c]);
    expect(backendOf([a, b, c]))
      .to.equal(backend)
      .and.to.be.instanceOf(QuorumBackend);
    expect(backend).not.to.equal(backendOf([a, b]));
    expect(backendOf([a, b])).not.to.equal(backendOf([b, a]));
    expect(backendOf([a])).not.to.equal(backendOf(a));
    expect(backendOf(a)).to.equal(backendOf(a));
    // As when a client is replaced by a new one.
    const listOnce = (): WeakRef<RedisConnection> => {
      const replaced = client();
      backendOf([a, replaced]);
      return new WeakRef(replaced);
    };
    const dropped = listOnce();
    await collectUntil(() => dropped.deref() === undefined);
  });

  it('refuses options of a queue, and more permits than a call can ask for', async () => {
    const targets = [client(), client(), client()];
    const rate = { permits: 100, per: 60_000 };
    for (const option of [{ rate }, { maxWaiting: 5 }]) {
      const open = () => new Semaphore(targets, 'name', { limit: 1, ...option });
      expect(open).to.throw(TypeError, /expected none.*no queue/);
    }
    const permits = MAX_PERMITS_PER_CALL + 1;
    await using semaphore = new Semaphore(targets, 'name', { limit: 2 * permits });
    const most = `permits: expected at most ${MAX_PERMITS_PER_CALL} on several masters, got ${permits}`;
    for (const [message, asked] of [
      ['rate: expected none on several masters, because', semaphore.setRate(rate)],
      ['rate: expected none on several masters', semaphore.setRate(undefined)],
      ['group: expected none, because', semaphore.acquire({ group: 'a', weight: 2 })],
      ['group: expected none, because', semaphore.tryAcquire({ group: 'a' })],
      ['priority: expected none, because', semaphore.acquire({ priority: 1 })],
      ['cost: expected none, because', semaphore.tryUse(() => 1, { cost: { a: 1 } })],
      [most, semaphore.acquire({ permits })],
      [most, semaphore.tryAcquire({ permits })],
    ] as const) {
      const type = message === most ? RangeError : TypeError;
      expect((await errorOf<Error>(asked, type)).message).to.include(message);
    }
  });

  it('has 1 to 30 clients, each once, and nothing else; named clients are each in a list', () => {
    const [a, b, c] = [client(), client(), client()];
    const many = Array.from({ length: 31 }, client);
    expect(() => backendOf(many)).to.throw(RangeError, 'at most 30 clients, got 31');
    expect(backendOf(many.slice(1))).to.be.instanceOf(QuorumBackend);
    for (const wrong of [undefined, null, 5, 'redis://', {}, new MemoryBackend(), [client()]]) {
      const targets = [client(), wrong] as unknown as RedisTarget;
      expect(() => backendOf(targets)).to.throw(TypeError, /target/);
    }
    const given = (clients: unknown, options: object = {}) => {
      return () => quorum(clients as Parameters<typeof quorum>[0], options);
    };
    const lists = (wrong: unknown) => given({ a, b, c }, { lists: wrong });
    for (const [refused, type, message] of [
      [() => new Semaphore([], 'name', { limit: 1 }), RangeError, 'at least one'],
      [() => new Semaphore([a, a], 'name', { limit: 1 }), RangeError, 'once'],
      [given({}), RangeError, 'at least one'],
      [given({ a, b: a }), RangeError, 'once'],
      [given({ '': a }), RangeError, 'clients: expected 1 to 256 bytes'],
      [given({ a, b: 5 }), TypeError, 'target'],
      [given([]), TypeError, 'clients: expected an object of clients'],
      [given([a, b]), TypeError, 'clients: expected an object of clients'],
      [given({ a }, null as never), TypeError, 'options: expected an object, got null'],
      [given({ a }, { otherSet: 'ignore' }), TypeError, "'refuse' or 'warn'"],
      ...[[], [[]], [['a']], [['a', 'b', 'c', 'd']], [['a', 'a', 'b', 'c']]].map(
        (wrong) => [lists(wrong), RangeError, 'nodes a, b, c'] as const,
      ),
      ...['a', 5, ['a'], [null], null].map(
        (wrong) => [lists(wrong), TypeError, 'lists: expected an array of'] as const,
      ),
    ] as const) {
      expect(refused).to.throw(type, message);
    }
    expect(lists(['ab', 'bc'].map((names) => names.split('')))()).to.be.instanceOf(QuorumBackend);
    expect(given({ a }, { otherSet: 'warn' })()).to.be.instanceOf(QuorumBackend);
  });

  it('may be of ioredis-mock', async () => {
    const mocks = [1, 2, 3].map((port) => new RedisMock({ port: 7900 + port }));
    const semaphore = new Semaphore(mocks, 'mocked', { limit: 30 });
    // The default priority needs no queue.
    const one = await semaphore.acquire({ priority: 0 });
    const many = await semaphore.acquire({ permits: 20 });
    const { held, holders } = await semaphore.inspect();
    expect(held).to.equal(21);
    expect(holders.map(({ id }) => id)).to.deep.equal([one.id, many.id]);
    expect(holders.map(({ slots }) => slots.length)).to.deep.equal([1, 20]);
    // The nodes gave the first ticket different tokens, so that it was written a second time.
    for (const handle of [one, many]) {
      await handle.extend();
      expect(await handle.release()).to.equal(true);
    }
    expect(await semaphore.inspect()).to.include({ held: 0 });
    await semaphore.close();
    for (const mock of mocks) mock.disconnect();
  });
});

it('the name of a node is its address, or the default of its library, or its path, if known', () => {
  const url = 'redis://user:secret@Host.example:7000';
  for (const part of ['', '/2']) {
    const at = url + part;
    const ofNode = [
      createClient({ url: at }),
      createClient5({ url: at }),
      createClient4({ url: at }),
    ];
    const others = [new Redis(at, { lazyConnect }), new Redis6(at, { lazyConnect })];
    const names = [...ofNode, ...others].map((one) => nodeName(one));
    expect(names).to.deep.equal(names.map(() => `host.example:7000${part}`));
  }
  const addresses = [{ host: 'a', port: 1 }];
  const path = '/run/redis.sock';
  const shy = Object.defineProperty(client(), 'options', {
    get: () => {
      throw new Error('not yours');
    },
  });
  for (const [one, name] of [
    [createClient(), 'localhost:6379'],
    [createClient4(), 'localhost:6379'],
    [new Redis({ lazyConnect }), 'localhost:6379'],
    [createClient({ socket: { path, tls: false } }), path],
    [new Redis(path, { lazyConnect }), path],
    [client(), undefined],
    [shy, undefined],
    [new Cluster(addresses, { lazyConnect }), undefined],
    [createCluster({ rootNodes: [{ url: 'redis://a:1' }] }), undefined],
    [new Redis({ sentinels: addresses, name: 'n', lazyConnect }), undefined],
    [createSentinel({ name: 'n', sentinelRootNodes: addresses }), undefined],
  ] as const) {
    expect(nodeName(one)).to.equal(name);
  }
});
