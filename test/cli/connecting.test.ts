import { expect } from 'chai';
import { Redis } from 'ioredis';
import { stub, useFakeTimers } from 'sinon';
import { ioredisAdapter, nodeRedisAdapter } from '../../src/cli/clients.js';
import { connect } from '../../src/cli/connect.js';
import { Failure } from '../../src/cli/failure.js';
import type { ClientAdapter, Server } from '../../src/cli/clients.js';
import { parseServerUrl } from '../../src/cli/server-options.js';

const never = <T>(): Promise<T> => new Promise(() => undefined);
const withCode = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });
const address = parseServerUrl('--url', 'redis://example.org:7000/3');
const settings = { addresses: [address] as const, cluster: false, client: undefined };

/** Gives the fates of the clients and the result, if these are the outcomes of the attempts. */
async function connecting(...outcomes: (Error | 'silent')[]): Promise<string> {
  const events: string[] = [];
  const adapter: ClientAdapter = ({ onError }) => {
    const outcome = outcomes.shift();
    events.push('create');
    const open = async (): Promise<unknown> => {
      if (!(outcome instanceof Error)) return outcome === undefined ? 0 : never();
      onError(outcome);
      // Some clients say no more than this.
      throw new Error('Connection is closed.');
    };
    const client = { connect: open, disconnect: () => events.push('disconnect') };
    return client as Partial<Server> as ReturnType<ClientAdapter>;
  };
  const result = connect({ ...settings, tls: {} }, Infinity, adapter);
  events.push(await result.then(() => 'connected', String));
  return events.join();
}

describe('connecting of redsem', () => {
  it('refuses client packages of an unknown form', () => {
    expect(() => nodeRedisAdapter({ createClient: never })).to.throw(Failure, 'redis has');
    expect(() => ioredisAdapter({ Redis, Cluster: 'none' })).to.throw(Failure, 'redis has');
  });

  it('does not work in database 0 where a later SELECT is refused', () => {
    const adapter = ioredisAdapter({ Redis, Cluster: Redis.Cluster });
    const given = { settings: { ...settings, tls: undefined }, ready: () => true };
    const client = adapter({ ...given, onError: () => undefined }).target as Redis;
    const disconnect = stub(client, 'disconnect');
    for (const name of ['auth', 'select']) {
      client.emit('error', Object.assign(new Error('NOPERM'), { command: { name } }));
      expect(disconnect.args).to.deep.equal(name === 'auth' ? [] : [[true]]);
    }
  });

  it('tries again where only the time of a client was over, and not without a server', async () => {
    const both = new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')]);
    const late = [new Error('Connection timeout'), withCode('ETIMEDOUT'), both];
    expect(await connecting(...late)).to.equal(`${'create,disconnect,'.repeat(3)}create,connected`);
    const refused = /^create,disconnect,.*cannot connect to example.org:7000: .*ECONNREFUSED$/;
    expect(await connecting(withCode('ECONNREFUSED'))).to.match(refused);
  });

  it('waits as long as the server is silent while the program runs', async () => {
    const clock = useFakeTimers();
    let outcome = 'pending';
    void connecting('silent').then((all) => (outcome = all));
    // Each time the timers are a minute late, and 200 ms of it count.
    for (let minute = 0; minute < 20; minute += 1) {
      clock.jump(60_000);
      await clock.tickAsync(0);
    }
    await clock.tickAsync(999);
    expect(outcome).to.equal('pending');
    await clock.tickAsync(1);
    expect(outcome)
      .to.match(/^create,disconnect,/)
      .and.match(/: connecting: no answer within 5000 ms \(is it a TLS port\?\)$/);
  });
});
