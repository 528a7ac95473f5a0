import { expect } from 'chai';
import { Redis } from 'ioredis';
import { stub, useFakeTimers } from 'sinon';
import { ioredisAdapter, nodeRedisAdapter } from '../../src/cli/clients.js';
import { connect } from '../../src/cli/connect.js';
import { Failure } from '../../src/cli/failure.js';
import { withTimeout } from '../../src/cli/with-timeout.js';
import type { ClientAdapter, Server } from '../../src/cli/clients.js';
import { parseServerUrl } from '../../src/cli/server-options.js';

const never = <T>(): Promise<T> => new Promise(() => undefined);
const withCode = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const [address, tls] = [parseServerUrl('--url', 'redis://example.org:7000/3'), undefined];
const settings = { addresses: [address] as const, tls, cluster: false, client: undefined };

describe('the client packages of redsem', () => {
  it('are refused where they are not what they were', () => {
    expect(() => nodeRedisAdapter({ createClient: never })).to.throw(Failure, 'redis has');
    expect(() => ioredisAdapter({ Redis, Cluster: 'none' })).to.throw(Failure, 'redis has');
  });

  it('do not work in database 0 where a later SELECT is refused', () => {
    const adapter = ioredisAdapter({ Redis, Cluster: Redis.Cluster });
    const pending = { settings, ready: () => true, onError: () => undefined };
    const client = adapter(pending).target as Redis;
    const disconnect = stub(client, 'disconnect');
    for (const name of ['auth', 'select']) {
      client.emit('error', Object.assign(new Error('NOPERM'), { command: { name } }));
      expect(disconnect.args).to.deep.equal(name === 'auth' ? [] : [[true]]);
    }
  });
});

describe('connecting of redsem', () => {
  /**
   * Where attempt after attempt has these outcomes; gives what came of it, and what happened to the
   * clients.
   */
  async function connecting(outcomes: (Error | 'silent')[], secure = false): Promise<string[]> {
    const events: string[] = [];
    const adapter: ClientAdapter = ({ onError }) => {
      const outcome = outcomes.shift();
      events.push('create');
      const open = async (): Promise<unknown> => {
        if (!(outcome instanceof Error)) return outcome === undefined ? 0 : never();
        onError(outcome);
        // Some say no more than this.
        throw new Error('Connection is closed.');
      };
      const server: Pick<Server, 'disconnect'> = { disconnect: () => events.push('disconnect') };
      return { ...(server as Server), connect: open };
    };
    const given = { ...settings, tls: secure ? {} : undefined };
    const result = await connect(given, Infinity, adapter).then(
      () => 'connected',
      (error: unknown) => String(error),
    );
    return [...events, result];
  }

  it('tries again where only the time of a client was over', async () => {
    const both = new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')]);
    const late = [new Error('Connection timeout'), withCode('ETIMEDOUT'), both];
    const tries = late.flatMap(() => ['create', 'disconnect']);
    expect(await connecting(late)).to.deep.equal([...tries, 'create', 'connected']);
  });

  it('gives up at once without a server, or without an answer, and says why', async () => {
    const [, , refused] = await connecting([withCode('ECONNREFUSED')]);
    expect(refused).to.match(/cannot connect to example.org:7000: .*ECONNREFUSED$/);
    const clock = useFakeTimers();
    const attempts = Promise.all([connecting(['silent']), connecting(['silent'], true)]);
    await clock.tickAsync(5000);
    const [plain, secure] = (await attempts).map((events) => events.join());
    expect(plain).to.match(/^create,disconnect,.*: connecting: no answer within 5000 ms$/);
    expect(secure).to.match(/: connecting: no answer within 5000 ms \(is it a TLS port\?\)$/);
  });

  it('waits as long as the server is silent while the program runs, and no longer than the deadline', async () => {
    const minutes = Array.from({ length: 20 }, () => 60_000);
    for (const [deadline, ticks, jumps, outcome] of [
      [Infinity, 4999, [], 'pending'],
      [Infinity, 5000, [], 'connecting: no answer within 5000 ms'],
      // Each time the timers are a minute late.
      [Infinity, 0, minutes, 'pending'],
      [2000, 0, [2000], 'connecting: no answer within 2000 ms'],
    ] as const) {
      const clock = useFakeTimers();
      let seen = 'pending';
      withTimeout(5000, 'connecting', never(), deadline).catch(
        (error: Error) => (seen = error.message),
      );
      for (const jump of jumps) {
        clock.jump(jump);
        await clock.tickAsync(0);
      }
      await clock.tickAsync(ticks);
      expect(seen).to.equal(outcome);
      clock.restore();
    }
  });
});
