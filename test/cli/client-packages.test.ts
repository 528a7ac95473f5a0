import { expect } from 'chai';
import { spy, stub } from 'sinon';
import { ioredisAdapter } from '../../src/cli/clients/ioredis.js';
import { nodeRedisAdapter } from '../../src/cli/clients/node-redis.js';
import { UnavailableError } from '../../src/cli/failure.js';
import type { ClientAdapter } from '../../src/cli/server.js';
import { parseServerUrl } from '../../src/cli/server-url.js';

type Strategy = (attempt: number, cause?: Error) => unknown;

/** Where a package is told how to reconnect. */
interface Way {
  readonly adapter: ClientAdapter;
  readonly cluster: boolean;
  readonly path: readonly string[];
}

/** A client of either package that notes what it was made with. */
class FakeClient {
  readonly options: object;

  constructor(...settings: object[]) {
    this.options = settings.at(-1) ?? {};
  }

  on(): this {
    return this;
  }

  disconnect(): void {}
}

const redis = {
  createClient: (options: object) => new FakeClient(options),
  createCluster: (options: object) => new FakeClient(options),
};
const ioredis = { Redis: FakeClient, Cluster: FakeClient };

/** @param ready whether it was connected once */
function serverOf(adapter: ClientAdapter, ready = false, cluster = false) {
  const addresses = [parseServerUrl('--url', 'redis://example.org:7000/3')] as const;
  const settings = { addresses, tls: undefined, cluster, client: undefined };
  return adapter.create({ settings, ready: () => ready, onError: () => undefined }).server;
}

function strategyOf({ adapter, cluster, path }: Way, ready: boolean): Strategy {
  let found: unknown = serverOf(adapter, ready, cluster).target;
  for (const key of ['options', ...path]) found = Reflect.get(Object(found), key);
  return found as Strategy;
}

describe('client packages of the command line', () => {
  it('are refused where they are not what they were', () => {
    for (const given of [undefined, {}, { createClient: redis.createClient }]) {
      expect(() => nodeRedisAdapter(given)).to.throw(UnavailableError, 'the package redis has');
    }
    for (const given of [undefined, {}, { Redis: FakeClient, Cluster: 'none' }]) {
      expect(() => ioredisAdapter(given)).to.throw(UnavailableError, 'the package ioredis has');
    }
  });

  const [node, io] = [nodeRedisAdapter(redis), ioredisAdapter(ioredis)];
  const nodePath = ['socket', 'reconnectStrategy'];
  const ways: Record<string, Way> = {
    redis: { adapter: node, cluster: false, path: nodePath },
    'a cluster of redis': { adapter: node, cluster: true, path: ['defaults', ...nodePath] },
    ioredis: { adapter: io, cluster: false, path: ['retryStrategy'] },
    'a cluster of ioredis': { adapter: io, cluster: true, path: ['clusterRetryStrategy'] },
    'its nodes': { adapter: io, cluster: true, path: ['redisOptions', 'retryStrategy'] },
  };
  for (const [what, way] of Object.entries(ways)) {
    it(`reconnect more and more slowly, but not before they were connected once: ${what}`, () => {
      const reconnect = strategyOf(way, true);
      const pauses = [0, 1, 5, 6, 1000].map((attempt) => reconnect(attempt));
      expect(pauses).to.deep.equal([50, 100, 1600, 2000, 2000]);
      const cause = new Error('refused');
      // The one stops at an error, the other at null.
      expect(strategyOf(way, false)(1, cause)).to.be.oneOf([cause, null]);
    });
  }

  it('do not work in database 0 where a later SELECT is refused', () => {
    const disconnect = stub(FakeClient.prototype, 'disconnect');
    const on = stub(FakeClient.prototype, 'on');
    serverOf(io, true);
    const refuse = (command: string): void => {
      const error = new Error('NOPERM this user has no permissions');
      on.callArgWith(1, Object.assign(error, { command: { name: command } }));
    };
    refuse('auth');
    expect(disconnect.callCount).to.equal(0);
    refuse('select');
    expect(disconnect.args).to.deep.equal([[true]]);
  });

  it("are disconnected in the way of their version, and an error of that is nobody's", async () => {
    const destroy = spy();
    const disconnect = spy(() => Promise.reject(new Error('not connected')));
    for (const methods of [{ destroy, disconnect }, { disconnect }]) {
      const createClient = () => Object.assign(new FakeClient(), methods);
      serverOf(nodeRedisAdapter({ ...redis, createClient })).disconnect();
    }
    expect([destroy.callCount, disconnect.callCount]).to.deep.equal([1, 1]);
  });
});
