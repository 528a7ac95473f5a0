import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { stub, useFakeTimers } from 'sinon';

import { ioredisConnection } from '../../../../../src/backends/redis/adapters/ioredis.js';
import { evalshaOf } from '../../../../../src/backends/redis/adapters/ioredis-command.js';
import { pickLoopbackPort } from '../../../../support/loopback-port.js';
import { moment } from '../../../../support/moment.js';
import { connectionTo, fakeClient, subscription } from './fake-clients.js';

for (const [kind, closed, lost] of [
  ['node-redis', { isOpen: false }, 'error'],
  ['ioredis', { status: 'end' }, 'close'],
] as const) {
  describe(`adapter of ${kind}`, () => {
    it('recognizes a client that its owner closed, and a client that cannot subscribe', () => {
      const { connection, fields } = fakeClient(kind);
      expect(connection, 'without wait').not.to.have.property('replication');
      expect(connection.isClosed?.()).to.equal(false);
      Object.assign(fields, closed);
      expect(connection.isClosed?.()).to.equal(true);
      const { evalsha, evalSha, eval: run } = fields;
      const bare = connectionTo(kind, { evalsha, evalSha, eval: run });
      expect(bare.isClosed?.()).to.equal(false);
      expect(bare, 'without duplicate').not.to.have.property('subscribe');
    });

    it('opens another connection after a pause when its own is lost, fails, is silent or is refused', async () => {
      const clock = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const answers = [
        () => Promise.resolve(),
        () => Promise.reject(new Error('connect ECONNREFUSED')),
        () => new Promise<void>(() => {}),
        () => Promise.reject(new Error('LOADING x')),
        () => Promise.reject(new Error('NOAUTH x')),
      ];
      const client = fakeClient(kind, (count) => answers[count - 1]?.() ?? Promise.resolve());
      const { subscribers } = client;
      const { told, close } = client.subscribe();
      await clock.tickAsync(60_000);
      expect([told, subscribers.length]).to.deep.equal([[true], 1]);
      for (const event of [lost, 'end']) subscribers[0]?.emit(event, new Error('it is gone'));
      expect([told, subscribers.length]).to.deep.equal([[true, false], 1]);
      await clock.tickAsync(60_000);
      expect(told.filter(Boolean)).to.deep.equal([true, true]);
      expect(subscribers).to.have.length(answers.length + 1);
      await close();
      await clock.tickAsync(60_000);
      expect(subscribers.map(({ ended }) => ended >= 1)).to.deep.equal(subscribers.map(() => true));
      expect(subscribers, 'once it is closed').to.have.length(answers.length + 1);
    });
  });
}

it('the adapter of node-redis spares a client that is ready the time limit on writing, and no other', async () => {
  const { fields } = fakeClient('node-redis');
  const sends: unknown[][] = [];
  const sendCommand = (...call: unknown[]) => {
    sends.push(call);
    return Promise.resolve('directly');
  };
  const ready = { ...fields, sendCommand, isReady: true };
  const run = (client: object) =>
    connectionTo('node-redis', client).runBySha('sha', ['k1', 'k2'], ['a']);
  expect(await run(ready)).to.equal('directly');
  const command = ['EVALSHA', 'sha', '2', 'k1', 'k2', 'a'];
  expect(sends).to.deep.equal([[command, { timeout: undefined }]]);
  await run({ ...ready, isReady: false });
  expect(sends[1]).to.deep.equal([command, {}]);
  for (const other of [{ duplicate: undefined }, { options: { keyPrefix: 'app:' } }]) {
    expect(await run({ ...ready, ...other })).to.equal('reply');
  }
});

describe('adapter of ioredis alone', () => {
  it('gives a clock only to its mock, whose TIME runs backwards', () => {
    const { evalsha, eval: run } = fakeClient('ioredis').fields;
    const mock = { evalsha, eval: run, shaScripts: {}, keyData: {} };
    const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    expect(connectionTo('ioredis', mock).serverClock?.()).to.equal(now);
    expect(connectionTo('ioredis', { ...mock, status: 'ready' }).serverClock).to.equal(undefined);
  });

  it('copies a client so that the copy ends with its connection, and nothing waits for its goodbye', async () => {
    const client = fakeClient('ioredis');
    const { close } = client.subscribe();
    await turn();
    client.subscribers[0]?.emit('error', new Error('what does not end it'));
    expect(client.subscribers[0]?.ended).to.equal(0);
    await close();
    const [options] = client.copies as [{ retryStrategy: () => unknown }];
    expect(options.retryStrategy()).to.equal(null);
    expect(options).to.include({ disconnectTimeout: 1, failoverDetector: false });
  });

  it('closes while the server is away, whenever that is', async () => {
    for (const Client of [Redis, Redis6 as unknown as typeof Redis]) {
      for (const pause of [0, 30, 200]) {
        const port = await pickLoopbackPort();
        const offline = new Client({ host: '127.0.0.1', port, retryStrategy: () => 60_000 });
        offline.on('error', () => {});
        const { close } = subscription(ioredisConnection(offline));
        await moment(pause);
        await close();
        offline.disconnect();
      }
    }
  });

  it('sends EVALSHA as ioredis itself does, unless its client does more for a command or is not known', async () => {
    const make = (options: RedisOptions) => new Redis({ ...options, lazyConnect: true });
    const client = make({});
    /** What it would have sent, if it was connected. */
    const texts: unknown[] = [];
    stub(client, 'sendCommand').callsFake(async (command) => {
      texts.push(command.toWritable({}));
    });
    const keys = ['p:{näme}:tickets', 'p:{näme}:info'];
    const args = ['', '☃', 'x'.repeat(300)];
    await evalshaOf(client)?.('sha', keys, args);
    await client.evalsha('sha', 2, ...keys, ...args);
    expect(texts).to.have.length(2);
    expect(texts[0]).to.equal(texts[1]);
    for (const option of ['keyPrefix', 'enableAutoPipelining', 'showFriendlyErrorStack'])
      expect(evalshaOf(make({ [option]: 'p' }))).to.equal(undefined);
    const other = { sendCommand: () => {}, evalsha: () => Promise.resolve(), options: {} };
    for (const unknown of [other, { ...other, options: undefined }, {}])
      expect(evalshaOf(unknown)).to.equal(undefined);
  });
});
