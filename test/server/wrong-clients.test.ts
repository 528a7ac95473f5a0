import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { expect } from 'chai';

import { AcquireTimeoutError, BackendError, type RedisTarget, Semaphore } from '../../src/index.js';
import { redsemHere } from '../cli/in-process.js';
import { itThroughBothClients } from '../support/client-fixture.js';
import { errorOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';

const SECRET = 'hunter2';
const lazyConnect = true;

describeWithServer('a client that cannot work', (server) => {
  /** The message of an acquire without a timeout, whose error shows no secret in a log. */
  async function refusal(target: RedisTarget): Promise<string> {
    await using semaphore = new Semaphore(target, 'jobs', { limit: 1 });
    const error = await errorOf(semaphore.acquire(), BackendError);
    expect(inspect(error, { depth: 9 })).not.to.include(SECRET);
    return error.message;
  }

  /** As `refusal`, by an ioredis client. */
  async function refusalOf(client: Redis, prepare = async (): Promise<unknown> => undefined) {
    client.on('error', () => {});
    await prepare();
    return refusal(client).finally(() => client.disconnect());
  }

  it('is refused at once, and hears what to call, pass or check', async () => {
    const message = await refusal(createClient({ url: server().url }));
    expect(message).to.include('The client is closed; call `await client.connect()` first');
    expect(message).not.to.include('cannot reach');
    const reader = new Redis(server().url);
    const subscribed = await refusalOf(reader, () => reader.subscribe('news'));
    expect(subscribed).to.include('subscriber mode').and.include('client.duplicate()');
    const login = { username: 'nobody', password: SECRET, lazyConnect };
    const wrong = await refusalOf(new Redis(server().port, '127.0.0.1', login));
    expect(wrong).to.include('WRONGPASS').and.include("check the client's username and password");
  });

  for (const client of ['redis', 'ioredis']) {
    it(`with a wrong password is named by the command (${client})`, async () => {
      for (const database of ['', '/1']) {
        const url = `redis://nobody:${SECRET}@127.0.0.1:${server().port}${database}`;
        const { code, stderr } = await redsemHere(['status', '--client', client], { url });
        expect(stderr).to.match(/^redsem: cannot connect to 127\.0\.0\.1:\d+: WRONGPASS /);
        expect(stderr).to.include('; check user and password in --url or $REDIS_URL');
        expect(stderr).not.to.include(SECRET).and.not.include('Connection is closed');
        expect(code).to.equal(69);
      }
    });
  }

  itThroughBothClients(
    'that is healthy is not called unreachable in a short time',
    async (fixture) => {
      const { target } = await fixture.connect(server().port);
      const semaphore = fixture.semaphore(target, 'short', { limit: 1 });
      const holder = await semaphore.acquire();
      server().pause();
      const waiting = errorOf(semaphore.acquire(1.5), AcquireTimeoutError);
      const { message } = await waiting.finally(() => server().resume());
      expect(message).to.match(
        /^no permit of "short" came free within 1\.5 ms .*; no reply came within that time;/,
      );
      expect(message).not.to.include('cannot reach');
      await holder.release();
    },
  );

  it('without a password gets an error that names library and command', async () => {
    await server().command('ACL', 'SETUSER', 'default', 'off');
    const client = new Redis(server().url, { lazyConnect, enableReadyCheck: false });
    const message = await refusalOf(client);
    expect(message)
      .to.match(/NOAUTH|unauthenticated/)
      .and.include('give the client one');
    for (const kind of ['redis', 'ioredis']) {
      const { stderr } = await redsemHere(['status', '--client', kind], { url: server().url });
      expect(stderr).to.include('NOAUTH').and.include('put user and password into --url');
    }
  });
});
