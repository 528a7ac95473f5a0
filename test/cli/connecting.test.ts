import { expect } from 'chai';
import { Redis } from 'ioredis';
import { spy, stub, useFakeTimers } from 'sinon';
import { ioredisAdapter } from '../../src/cli/clients/ioredis.js';
import { nodeRedisAdapter } from '../../src/cli/clients/node-redis.js';
import { closeAfter, giveBack } from '../../src/cli/commands/leave.js';
import { connectBy } from '../../src/cli/connect.js';
import { UnavailableError } from '../../src/cli/failure.js';
import { within } from '../../src/cli/patience.js';
import type { ClientAdapter } from '../../src/cli/server.js';
import { parseServerUrl } from '../../src/cli/server-url.js';

const never = <T>(): Promise<T> => new Promise(() => undefined);
const withCode = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

/** Settings of one server. */
function settingsOf({ tls = false, cluster = false } = {}) {
  const addresses = [parseServerUrl('--url', 'redis://example.org:7000/3')] as const;
  return { addresses, tls: tls ? {} : undefined, cluster, client: undefined };
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
const [node, io] = [
  nodeRedisAdapter(redis),
  ioredisAdapter({ Redis: FakeClient, Cluster: FakeClient }),
];

function serverOf(adapter: ClientAdapter, ready = true, cluster = false) {
  const settings = settingsOf({ cluster });
  return adapter.create({ settings, ready: () => ready, onError: () => undefined }).server;
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

  it('reconnect more and more slowly, but not before they were connected once', () => {
    for (const [adapter, cluster, path] of [
      [node, false, 'socket.reconnectStrategy'],
      [node, true, 'defaults.socket.reconnectStrategy'],
      [io, false, 'retryStrategy'],
      [io, true, 'clusterRetryStrategy'],
      [io, true, 'redisOptions.retryStrategy'],
    ] as const) {
      const [reconnect, give] = [true, false].map((ready) => {
        let found: unknown = serverOf(adapter, ready, cluster).target;
        for (const key of ['options', ...path.split('.')]) found = Reflect.get(Object(found), key);
        return found as (attempt: number, cause?: Error) => unknown;
      });
      const pauses = [0, 1, 5, 6, 1000].map((attempt) => reconnect?.(attempt));
      expect(pauses, path).to.deep.equal([50, 100, 1600, 2000, 2000]);
      const cause = new Error('refused');
      // The one stops at an error, the other at null.
      expect(give?.(1, cause)).to.be.oneOf([cause, null]);
    }
  });

  it('do not work in database 0 where a later SELECT is refused', () => {
    const disconnect = stub(FakeClient.prototype, 'disconnect');
    const on = stub(FakeClient.prototype, 'on');
    serverOf(io);
    for (const name of ['auth', 'select']) {
      const error = new Error('NOPERM this user has no permissions');
      on.callArgWith(1, Object.assign(error, { command: { name } }));
      expect(disconnect.args).to.deep.equal(name === 'auth' ? [] : [[true]]);
    }
  });

  it('are disconnected in the way of their version, and an error of that is ignored', () => {
    const destroy = spy();
    const disconnect = spy(() => Promise.reject(new Error('not connected')));
    for (const methods of [{ destroy, disconnect }, { disconnect }]) {
      const createClient = () => Object.assign(new FakeClient(), methods);
      serverOf(nodeRedisAdapter({ ...redis, createClient })).disconnect();
    }
    expect([destroy.callCount, disconnect.callCount]).to.deep.equal([1, 1]);
  });
});

describe('connecting of the command line', () => {
  /** Connects where attempt after attempt has these outcomes; gives what came of it, and what happened to the clients. */
  async function connecting(
    outcomes: (Error | 'silent')[],
    tls = false,
  ): Promise<[string, string]> {
    const events: string[] = [];
    let made = 0;
    const adapter: ClientAdapter = {
      create: ({ onError }) => {
        const [number, outcome] = [made + 1, outcomes[made]];
        events.push(`create ${(made = number)}`);
        const disconnect = () => void events.push(`disconnect ${number}`);
        const unused = { keys: () => never<never>(), fields: never<(string | null)[]> };
        const target = new Redis({ lazyConnect: true });
        const connect = async (): Promise<unknown> => {
          if (!(outcome instanceof Error)) return outcome === undefined ? 0 : never();
          onError(outcome);
          // Some say no more than this.
          throw new Error('Connection is closed.');
        };
        return { server: { target, ...unused, disconnect } as never, connect };
      },
    };
    const result = await connectBy(adapter, settingsOf({ tls }), Infinity).then(
      () => 'connected',
      (error: unknown) => String(error),
    );
    return [result, events.join(', ')];
  }

  it('tries again where only the time of a client was over', async () => {
    const both = new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')]);
    const late = [new Error('Connection timeout'), withCode('ETIMEDOUT'), both];
    const tries = [1, 2, 3].map((number) => `create ${number}, disconnect ${number}`).join(', ');
    expect(await connecting(late)).to.deep.equal(['connected', `${tries}, create 4`]);
  });

  it('gives up at once where the server is not there, and where nobody answers, and says why', async () => {
    const [refused, events] = await connecting([withCode('ECONNREFUSED')]);
    expect(refused).to.match(/cannot connect to example.org:7000: .*ECONNREFUSED$/);
    expect(events).to.equal('create 1, disconnect 1');
    const clock = useFakeTimers();
    const outcomes = Promise.all([connecting(['silent']), connecting(['silent'], true)]);
    await clock.tickAsync(5000);
    const [[plain, tried], [tls]] = await outcomes;
    expect(plain).to.match(/: connecting: no answer within 5000 ms$/);
    expect(tls).to.match(/: connecting: no answer within 5000 ms \(is it a TLS port\?\)$/);
    expect(tried).to.equal('create 1, disconnect 1');
  });
});

describe('patience of the command line', () => {
  it('ends when the server is silent for long, or at the deadline, but not when the program did not run', async () => {
    for (const [deadline, pass, outcome] of [
      [Infinity, [4999], 'pending'],
      [Infinity, [4999, 1], 'connecting: no answer within 5000 ms'],
      // Each time the timers are a minute late.
      [Infinity, Array.from({ length: 20 }, () => 60_000), 'pending'],
      [2000, [2000], 'connecting: no answer within 2000 ms'],
    ] as const) {
      const clock = useFakeTimers();
      let seen = 'pending';
      within(5000, 'connecting', never(), deadline).catch((error: Error) => (seen = error.message));
      for (const time of pass) {
        if (time === 60_000 || deadline === 2000) clock.jump(time);
        await clock.tickAsync(time < 5000 && deadline > 2000 ? time : 0);
      }
      expect(seen).to.equal(outcome);
      clock.restore();
    }
  });

  it('gives what the call gives, and leaves no timer behind', async () => {
    const clock = useFakeTimers();
    const refused = new Error('refused');
    const failing = within(5000, 'connecting', Promise.reject(refused)).catch((error) => error);
    expect(await within(5000, 'connecting', Promise.resolve(7))).to.equal(7);
    expect(await failing).to.equal(refused);
    await clock.tickAsync(0);
    expect(clock.countTimers()).to.equal(0);
  });
});

describe('the end of redsem run', () => {
  it('says what went wrong before it closes, and waits for no close that never ends', async () => {
    const clock = useFakeTimers();
    const events: unknown[] = [];
    const close = () => (events.push('close'), never<void>());
    const tell = async (error: unknown) => (events.push(error), 69);
    const refused = new Error('refused');
    const code = closeAfter({ close }, tell, () => Promise.reject(refused));
    await clock.runAllAsync();
    expect(await code).to.equal(69);
    expect(events).to.deep.equal([refused, 'close']);
    const broken = { close: () => Promise.reject(new Error('gone')) };
    expect(await closeAfter(broken, tell, async () => 3)).to.equal(3);
  });

  it('knows of a permit that was lost, but not by a release that never ends or a lease that ran out meanwhile', async () => {
    const clock = useFakeTimers();
    const late = async () => (await clock.tickAsync(200), false);
    for (const [expiresIn, release, given] of [
      [0, async () => false, false],
      [20_000, async () => false, false],
      [20_000, never<boolean>, true],
      [200, late, true],
    ] as const) {
      const warnings: string[] = [];
      const done = giveBack({ expiresIn, release }, (message) => warnings.push(message));
      await clock.runAllAsync();
      expect(await done).to.equal(given);
      const warning = /^warning: the permit may be free only when its ttl is over: /;
      expect(warnings.join()).to.match(given ? warning : /^$/);
    }
  });
});
