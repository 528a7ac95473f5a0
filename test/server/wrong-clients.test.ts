import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { expect } from 'chai';

import { AcquireTimeoutError, BackendError, type RedisTarget, Semaphore } from '../../src/index.js';
import { redsemHere } from '../cli/in-process.js';
import { itThroughBothClients } from '../support/client-fixture.js';
import { reasonOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';

const SECRET = 'hunter2';

describeWithServer('a client that cannot work', (server) => {
  /** What an acquire without a timeout rejects with, and how a log prints it. */
  async function refusal(target: RedisTarget): Promise<string> {
    await using semaphore = new Semaphore(target, 'jobs', { limit: 1 });
    const error = await reasonOf(semaphore.acquire());
    expect(error).to.be.instanceOf(BackendError);
    expect(inspect(error, { depth: 9 })).not.to.include(SECRET);
    return (error as BackendError).message;
  }

  it('of redis that is not connected says what to call', async () => {
    const message = await refusal(createClient({ url: server().url }));
    expect(message).to.include('The client is closed; call `await client.connect()` first');
    expect(message).not.to.include('cannot reach');
  });

  it('of ioredis in subscriber mode is refused at once, with what to pass', async () => {
    const client = new Redis(server().url);
    await client.subscribe('news');
    const message = await refusal(client);
    client.disconnect();
    expect(message).to.include('subscriber mode').and.include('client.duplicate()');
  });

  it('of ioredis with a wrong password says so, and what to check, but no password', async () => {
    const client = new Redis(server().port, '127.0.0.1', {
      username: 'nobody',
      password: SECRET,
      lazyConnect: true,
    });
    client.on('error', () => {});
    const message = await refusal(client);
    client.disconnect();
    expect(message).to.include('WRONGPASS').and.include("check the client's username and password");
  });

  for (const client of ['redis', 'ioredis']) {
    for (const database of ['', '/1']) {
      it(`with a wrong password is named by the command (${client}${database})`, async () => {
        const url = `redis://nobody:${SECRET}@127.0.0.1:${server().port}${database}`;
        const { code, stderr } = await redsemHere(['status', '--client', client], { url });
        expect(stderr).to.match(/^redsem: cannot connect to 127\.0\.0\.1:\d+: WRONGPASS /);
        expect(stderr).to.include('; check user and password in --url or $REDIS_URL');
        expect(stderr).not.to.include(SECRET).and.not.include('Connection is closed');
        expect(code).to.equal(69);
      });
    }
  }

  itThroughBothClients(
    'that is healthy is not called unreachable for a short timeout',
    async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const semaphore = fixture.semaphore(target, 'short', { limit: 1 });
      const holder = await semaphore.acquire();
      server().pause();
      const error = await reasonOf(semaphore.acquire(1.5));
      server().resume();
      expect(error).to.be.instanceOf(AcquireTimeoutError);
      const { message } = error as AcquireTimeoutError;
      expect(message).to.match(/^no permit of "short" came free within 1\.5 ms /);
      expect(message)
        .to.include('; no reply came within that time;')
        .and.not.include('cannot reach');
      await holder.release();
    },
  );

  it('without a password gets an error that names library and command', async () => {
    await server().command('ACL', 'SETUSER', 'default', 'off');
    const client = new Redis(server().url, { lazyConnect: true, enableReadyCheck: false });
    client.on('error', () => {});
    const message = await refusal(client);
    client.disconnect();
    expect(message)
      .to.match(/NOAUTH|unauthenticated/)
      .and.include('give the client one');
    for (const kind of ['redis', 'ioredis']) {
      const { stderr } = await redsemHere(['status', '--client', kind], { url: server().url });
      expect(stderr).to.include('NOAUTH').and.include('put user and password into --url');
    }
  });
});
