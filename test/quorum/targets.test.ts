import { expect } from 'chai';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createClient, createCluster, createSentinel } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import type { RedisConnection } from '../../src/index.js';
import { MemoryBackend, quorum, Semaphore } from '../../src/index.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import { nodeName } from '../../src/redis/node-name.js';
import { backendOf } from '../../src/targets.js';
import type { RedisTarget } from '../../src/targets.js';
import { collectUntil } from '../support/garbage.js';

function client(): RedisConnection {
  const never = (): Promise<never> => Promise.reject(new Error('not connected'));
  return { runBySha: never, runByText: never };
}

describe('an array of clients', () => {
  it('is one backend whatever array they come in, and another in another order', () => {
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
    const dropped = listOnceWith(kept);
    await collectUntil(() => dropped.deref() === undefined);
    expect(backend).to.be.instanceOf(QuorumBackend);
  });

  /** As when a client is replaced by a new one. */
  function listOnceWith(kept: RedisConnection): WeakRef<RedisConnection> {
    const replaced = client();
    backendOf([kept, replaced]);
    return new WeakRef(replaced);
  }

  it('must have at least one, each once', () => {
    const a = client();
    expect(() => new Semaphore([], 'name', { limit: 1 })).to.throw(RangeError, /at least one/);
    expect(() => new Semaphore([a, a], 'name', { limit: 1 })).to.throw(RangeError, /once/);
  });

  it('must have clients only', () => {
    for (const wrong of [undefined, null, 5, 'redis://', {}, new MemoryBackend(), [client()]]) {
      const targets = [client(), wrong] as unknown as RedisTarget;
      expect(() => backendOf(targets)).to.throw(TypeError, /target/);
    }
  });

  it('must not be more than the nodes that a mask has bits for', () => {
    const clients = Array.from({ length: 31 }, client);
    expect(() => backendOf(clients)).to.throw(RangeError, 'at most 30 clients, got 31');
    expect(backendOf(clients.slice(1))).to.be.instanceOf(QuorumBackend);
  });
});

describe('named clients', () => {
  const [a, b, c] = [client(), client(), client()];

  it('are a backend', () => {
    expect(quorum({ a, b, c })).to.be.instanceOf(QuorumBackend);
    const lists = [
      ['a', 'b'],
      ['b', 'c'],
    ];
    expect(quorum({ a, b, c }, { lists, otherSet: 'warn' })).to.be.instanceOf(QuorumBackend);
  });

  it('must be listed, each in one list at least and by its name', () => {
    for (const lists of [[], [[]], [['a']], [['a', 'b', 'c', 'd']], [['a', 'a', 'b', 'c']]]) {
      expect(() => quorum({ a, b, c }, { lists })).to.throw(RangeError, 'nodes a, b, c');
    }
  });

  it('must have options of the right types', () => {
    for (const lists of ['a', 5, ['a'], [null], null] as unknown as string[][][]) {
      expect(() => quorum({ a }, { lists })).to.throw(TypeError, 'lists: expected an array of');
    }
    const none = null as unknown as Parameters<typeof quorum>[1];
    expect(() => quorum({ a }, none)).to.throw(TypeError, 'options: expected an object, got null');
  });

  it('must be clients, once each, with names', () => {
    expect(() => quorum({})).to.throw(RangeError, 'at least one');
    expect(() => quorum({ a, b: a })).to.throw(RangeError, 'once');
    expect(() => quorum({ '': a })).to.throw(RangeError, 'clients: expected 1 to 256 bytes');
    const wrong = { a, b: 5 } as unknown as Parameters<typeof quorum>[0];
    expect(() => quorum(wrong)).to.throw(TypeError, 'target');
    for (const array of [[], [a, b]] as unknown as Parameters<typeof quorum>[0][]) {
      expect(() => quorum(array)).to.throw(TypeError, 'clients: expected an object of clients');
    }
    const option = { otherSet: 'ignore' } as unknown as Parameters<typeof quorum>[1];
    expect(() => quorum({ a }, option)).to.throw(TypeError, "'refuse' or 'warn'");
  });
});

describe('the name of a node', () => {
  const openers: Record<string, (url: string) => object> = {
    redis: (url) => createClient({ url }),
    'redis 5': (url) => createClient5({ url }),
    'redis 4': (url) => createClient4({ url }),
    ioredis: (url) => new Redis(url, { lazyConnect: true }),
    'ioredis 6': (url) => new Redis6(url, { lazyConnect: true }),
  };

  for (const [kind, open] of Object.entries(openers)) {
    it(`is its address, with ${kind}`, () => {
      expect(nodeName(open('redis://user:secret@Host.example:7000/2'))).to.equal(
        'host.example:7000/2',
      );
      expect(nodeName(open('redis://host.example:7000'))).to.equal('host.example:7000');
    });
  }

  it('is the default of both libraries where nothing is said', () => {
    const clients = [createClient(), createClient5(), createClient4()];
    for (const one of [...clients, new Redis({ lazyConnect: true })]) {
      expect(nodeName(one)).to.equal('localhost:6379');
    }
    expect(nodeName(createClient({ socket: { path: '/run/redis.sock', tls: false } }))).to.equal(
      '/run/redis.sock',
    );
    expect(nodeName(new Redis('/run/redis.sock', { lazyConnect: true }))).to.equal(
      '/run/redis.sock',
    );
  });

  it('is unknown where there is no one address', () => {
    const cluster = new Cluster([{ host: 'a', port: 1 }], { lazyConnect: true });
    const rootNodes = [{ url: 'redis://a:1' }];
    const shy = Object.defineProperty(client(), 'options', {
      get: () => {
        throw new Error('not yours');
      },
    });
    for (const one of [client(), cluster, createCluster({ rootNodes }), shy]) {
      expect(nodeName(one)).to.equal(undefined);
    }
    const sentinels = [{ host: 'a', port: 1 }];
    const behind = new Redis({ sentinels, name: 'n', lazyConnect: true });
    expect(nodeName(behind)).to.equal(undefined);
    const sentinelRootNodes = [{ host: 'a', port: 1 }];
    expect(nodeName(createSentinel({ name: 'n', sentinelRootNodes }))).to.equal(undefined);
  });
});
