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
  it('is one backend in any array, and another backend in another order', () => {
    const [a, b, c] = [client(), client(), client()];
    expect(backendOf([a, b, c])).to.equal(backendOf([a, b, c]));
    expect(backendOf([a, b, c])).not.to.equal(backendOf([a, b]));
    expect(backendOf([a, b])).not.to.equal(backendOf([b, a]));
    expect(backendOf([a])).not.to.equal(backendOf(a));
    expect(backendOf(a)).to.equal(backendOf(a));
  });

  it('keeps none of them for the sake of the others', async () => {
    const kept = client();
    const backend = backendOf([kept, client()]);
    // As when a client is replaced by a new one.
    const listOnce = (): WeakRef<RedisConnection> => {
      const replaced = client();
      backendOf([kept, replaced]);
      return new WeakRef(replaced);
    };
    const dropped = listOnce();
    await collectUntil(() => dropped.deref() === undefined);
    expect(backend).to.be.instanceOf(QuorumBackend);
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
    for (const [asked, message] of [
      [
        semaphore.setRate(rate),
        'rate: expected none on several masters, because a quorum has no queue',
      ],
      [semaphore.setRate(undefined), 'rate: expected none on several masters'],
      [
        semaphore.acquire({ group: 'a', weight: 2 }),
        'group: expected none, because a quorum has no queue, got ',
      ],
      [semaphore.acquire({ priority: 1 }), 'priority: expected none, because'],
      [semaphore.acquire({ permits }), most],
      [semaphore.tryAcquire({ permits }), most],
      [semaphore.tryAcquire({ group: 'a' }), 'group: expected none, because'],
      [semaphore.tryUse(() => 1, { cost: { a: 1 } }), 'cost: expected none, because'],
    ] as const) {
      const type = message === most ? RangeError : TypeError;
      expect((await errorOf<Error>(asked, type)).message).to.include(message);
    }
  });

  it('must have 1 to 30 clients, each once, and nothing else', () => {
    const a = client();
    const many = Array.from({ length: 31 }, client);
    expect(() => new Semaphore([], 'name', { limit: 1 })).to.throw(RangeError, /at least one/);
    expect(() => new Semaphore([a, a], 'name', { limit: 1 })).to.throw(RangeError, /once/);
    expect(() => backendOf(many)).to.throw(RangeError, 'at most 30 clients, got 31');
    expect(backendOf(many.slice(1))).to.be.instanceOf(QuorumBackend);
    for (const wrong of [undefined, null, 5, 'redis://', {}, new MemoryBackend(), [client()]]) {
      const targets = [client(), wrong] as unknown as RedisTarget;
      expect(() => backendOf(targets)).to.throw(TypeError, /target/);
    }
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

describe('named clients', () => {
  const [a, b, c] = [client(), client(), client()];
  const lists = (given: unknown) => () => quorum({ a, b, c }, { lists: given as string[][] });
  const clients = (given: unknown) => () => quorum(given as Parameters<typeof quorum>[0]);
  const options = (given: unknown) => () => quorum({ a }, given as Parameters<typeof quorum>[1]);

  it('must be clients, once each, with names', () => {
    expect(clients({})).to.throw(RangeError, 'at least one');
    expect(clients({ a, b: a })).to.throw(RangeError, 'once');
    expect(clients({ '': a })).to.throw(RangeError, 'clients: expected 1 to 256 bytes');
    expect(clients({ a, b: 5 })).to.throw(TypeError, 'target');
    for (const array of [[], [a, b]]) {
      expect(clients(array)).to.throw(TypeError, 'clients: expected an object of clients');
    }
  });

  it('must each be in a list, by name, with options of the right types', () => {
    for (const wrong of [[], [[]], [['a']], [['a', 'b', 'c', 'd']], [['a', 'a', 'b', 'c']]]) {
      expect(lists(wrong)).to.throw(RangeError, 'nodes a, b, c');
    }
    for (const wrong of ['a', 5, ['a'], [null], null]) {
      expect(lists(wrong)).to.throw(TypeError, 'lists: expected an array of');
    }
    const two = ['ab', 'bc'].map((names) => names.split(''));
    expect(lists(two)()).to.be.instanceOf(QuorumBackend);
    expect(options({ otherSet: 'warn' })()).to.be.instanceOf(QuorumBackend);
    expect(options(null)).to.throw(TypeError, 'options: expected an object, got null');
    expect(options({ otherSet: 'ignore' })).to.throw(TypeError, "'refuse' or 'warn'");
  });
});

describe('the name of a node', () => {
  it('is its address, or the default of its library, or its path', () => {
    const url = 'redis://user:secret@Host.example:7000';
    for (const [kind, open] of Object.entries<(at: string) => object>({
      redis: (at) => createClient({ url: at }),
      'redis 5': (at) => createClient5({ url: at }),
      'redis 4': (at) => createClient4({ url: at }),
      ioredis: (at) => new Redis(at, { lazyConnect }),
      'ioredis 6': (at) => new Redis6(at, { lazyConnect }),
    })) {
      expect(nodeName(open(`${url}/2`)), kind).to.equal('host.example:7000/2');
      expect(nodeName(open(url)), kind).to.equal('host.example:7000');
    }
    for (const one of [createClient(), createClient4(), new Redis({ lazyConnect })])
      expect(nodeName(one)).to.equal('localhost:6379');
    const path = '/run/redis.sock';
    for (const one of [
      createClient({ socket: { path, tls: false } }),
      new Redis(path, { lazyConnect }),
    ])
      expect(nodeName(one)).to.equal(path);
  });

  it('is unknown for a client without a single address', () => {
    const addresses = [{ host: 'a', port: 1 }];
    const shy = Object.defineProperty(client(), 'options', {
      get: () => {
        throw new Error('not yours');
      },
    });
    for (const one of [
      client(),
      shy,
      new Cluster(addresses, { lazyConnect }),
      createCluster({ rootNodes: [{ url: 'redis://a:1' }] }),
      new Redis({ sentinels: addresses, name: 'n', lazyConnect }),
      createSentinel({ name: 'n', sentinelRootNodes: addresses }),
    ]) {
      expect(nodeName(one)).to.equal(undefined);
    }
  });
});
