import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { pickLoopbackPort } from '../../../../support/loopback-port.js';
import { moment } from '../../../../support/moment.js';
import { collected, connectionTo, FakeClient, type Kind } from './fake-clients.js';

const KINDS = {
  'node-redis': { closed: { isOpen: false }, lost: 'error' },
  ioredis: { closed: { status: 'end' }, lost: 'close' },
} as const;

for (const kind of Object.keys(KINDS) as Kind[]) {
  const { closed, lost } = KINDS[kind];

  describe(`adapter of ${kind}`, () => {
    it('recognizes a client that its owner closed, and a client that cannot subscribe', () => {
      const { connection, fields } = new FakeClient(kind);
      expect(connection.isClosed?.()).to.equal(false);
      Object.assign(fields, closed);
      expect(connection.isClosed?.()).to.equal(true);
      const { evalsha, evalSha, eval: run } = new FakeClient(kind).fields;
      const bare = connectionTo(kind, { evalsha, evalSha, eval: run });
      expect(bare.isClosed?.()).to.equal(false);
      expect(bare, 'without duplicate').not.to.have.property('subscribe');
    });

    it('opens another connection after a pause when its own is lost, fails or is silent, but not when it is refused', async () => {
      const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const client = new FakeClient(kind);
      const answers = [
        () => Promise.resolve(),
        () => Promise.reject(new Error('connect ECONNREFUSED')),
        () => new Promise<void>(() => {}),
        () => Promise.reject(new Error('LOADING x')),
        () => Promise.reject(new Error('NOAUTH x')),
      ];
      client.onSubscribe = () => answers[client.subscribers.length - 1]?.() ?? Promise.resolve();
      const { health, failures, close } = client.subscribe();
      await clock.tickAsync(60_000);
      expect([health, client.subscribers.length]).to.deep.equal([[true], 1]);
      for (const event of [lost, 'end']) client.subscriber.emit(event, new Error('it is gone'));
      expect([health, client.subscribers.length]).to.deep.equal([[true, false], 1]);
      await clock.tickAsync(60_000);
      expect(client.subscribers.map(({ ended }) => ended >= 1)).to.deep.equal(
        answers.map(() => true),
      );
      expect([health.filter(Boolean), failures]).to.deep.equal([[true], ['failed']]);
      await close();
      await clock.tickAsync(60_000);
      expect(client.subscribers, 'once it is closed').to.have.length(answers.length);
    });
  });
}

describe('adapter of node-redis alone', () => {
  it('spares a client that is ready the time limit on writing, and no other', async () => {
    const one = new FakeClient('node-redis');
    const sends: unknown[][] = [];
    const sendCommand = (...call: unknown[]) => {
      sends.push(call);
      return Promise.resolve('directly');
    };
    const ready: Record<string, unknown> = { ...one.fields, sendCommand, isReady: true };
    const run = (fields: object) =>
      connectionTo('node-redis', fields).runBySha('sha', ['k1', 'k2'], ['a']);
    expect(await run(ready)).to.equal('directly');
    const command = ['EVALSHA', 'sha', '2', 'k1', 'k2', 'a'];
    expect(sends).to.deep.equal([[command, { timeout: undefined }]]);
    const pool = { ...ready, duplicate: undefined };
    const prefixed = { ...ready, options: { keyPrefix: 'app:' } };
    for (const other of [{ ...ready, isReady: false }, pool, prefixed]) {
      expect(await run(other)).to.equal('reply');
    }
  });
});

describe('adapter of ioredis alone', () => {
  it('gives a clock only to its mock, whose TIME runs backwards', () => {
    const { evalsha, eval: run } = new FakeClient('ioredis').fields;
    const mock = { evalsha, eval: run, shaScripts: {}, keyData: {} };
    const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    expect(connectionTo('ioredis', mock).serverClock?.()).to.equal(now);
    expect(connectionTo('ioredis', { ...mock, status: 'ready' }).serverClock).to.equal(undefined);
  });

  it('copies a client so that the copy ends with its connection, and nothing waits for its goodbye', async () => {
    const client = new FakeClient('ioredis');
    const { close } = client.subscribe();
    await turn();
    client.subscriber.emit('error', new Error('what does not end it'));
    expect(client.subscriber.ended).to.equal(0);
    await close();
    const [options] = client.copies as [{ retryStrategy: () => unknown }];
    expect(options.retryStrategy()).to.equal(null);
    expect(options).to.include({ disconnectTimeout: 1, failoverDetector: false });
  });

  it('closes while the server is away, whenever that is', async () => {
    const options = { host: '127.0.0.1', retryStrategy: () => 60_000 };
    for (const open of [
      (port: number) => new Redis({ ...options, port }),
      (port: number) => new Redis6({ ...options, port }),
    ]) {
      for (const pause of [0, 30, 200]) {
        const offline = open(await pickLoopbackPort());
        offline.on('error', () => {});
        const { events } = collected();
        const subscription = ioredisConnection(offline).subscribe?.('p:inbox:c', events);
        await moment(pause);
        await subscription?.close();
        offline.disconnect();
      }
    }
  });
});
