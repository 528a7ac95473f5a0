import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { expect } from 'chai';
import { createClient } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import { ManualClock, type RedisTarget, Semaphore } from '../../src/index.js';
import { cutSubscribers } from '../../test/support/subscribers.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('the subscriber of an ioredis client', (server) => {
  let proxy: FaultProxy;

  beforeEach('start the proxy', async () => {
    proxy = await startProxy(server().port);
  });

  afterEach('stop the proxy', () => proxy.stop());

  // The subscriber is a copy of the client, with its options.
  const options: Record<string, RedisOptions> = {
    'whose commands fail before it has connected': {
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
    },
    // As it does with a failover detector that tells of a failover while it reconnects.
    'that ended while it reconnected': { retryStrategy: (times) => (times < 3 ? 20 : null) },
  };
  for (const [which, special] of Object.entries(options)) {
    it(`${which} listens as soon as it can connect`, async () => {
      const client = new Redis({ port: proxy.port, lazyConnect: true, ...special });
      client.on('error', () => undefined);
      await client.connect();
      const name = newName();
      const semaphore = new Semaphore(client, name, { limit: 1, ttl: 10_000 });
      try {
        const first = await semaphore.acquire();
        // What is connected stays so; the subscriber connects with the first waiter.
        proxy.refuse(true);
        const refused = proxy.refused;
        const waiting = semaphore.acquire(20_000);
        waiting.catch(() => undefined);
        await eventually(() => expect(proxy.refused).to.be.at.least(refused + 3));
        proxy.refuse(false);
        await new StoredSemaphore(server(), name).expectListening();
        expect(await first.release()).to.equal(true);
        expect(await (await waiting).release()).to.equal(true);
      } finally {
        await semaphore.close();
        client.disconnect();
      }
    });
  }
});

interface Owned {
  readonly target: RedisTarget;
  readonly end: () => unknown;
}

/** None of them connects again by itself; so neither do the copies of some. */
const stubborn: Record<string, (port: number) => Promise<Owned>> = {
  'redis 4': async (port) => {
    const client = createClient4({ socket: { port, reconnectStrategy: false } }).on(
      'error',
      ignore,
    );
    await client.connect();
    return { target: client, end: () => client.disconnect() };
  },
  'redis 5': async (port) => {
    const client = createClient5({ socket: { port, reconnectStrategy: false } }).on(
      'error',
      ignore,
    );
    await client.connect();
    return { target: client, end: () => client.destroy() };
  },
  'redis 6': async (port) => {
    const client = createClient({ socket: { port, reconnectStrategy: false } }).on('error', ignore);
    await client.connect();
    return { target: client, end: () => client.destroy() };
  },
  'ioredis 5': (port) => {
    const client = new Redis({ port, retryStrategy: () => null }).on('error', ignore);
    return Promise.resolve({ target: client, end: () => client.disconnect() });
  },
  'ioredis 6': (port) => {
    const client = new Redis6({ port, retryStrategy: () => null }).on('error', ignore);
    return Promise.resolve({ target: client, end: () => client.disconnect() });
  },
};

function ignore(): void {}

describeWithServer('pushes come back', (server) => {
  for (const [which, open] of Object.entries(stubborn)) {
    it(`to a client of ${which} that never reconnects`, async () => {
      const { target, end } = await open(server().port);
      const well = await open(server().port);
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      // No time passes on its clock: it has what it hears, and never polls.
      const clock = new ManualClock();
      const own = new Semaphore(target, name, { limit: 1, clock });
      const other = new Semaphore(well.target, name, { limit: 1 });
      try {
        const first = await other.acquire();
        const before = own.acquire();
        await stored.expectListening();
        await cutSubscribers(server());
        await stored.expectListening();
        await first.release();
        // Heard, or found with the one try that follows a subscription.
        const held = await before;
        const second = other.acquire();
        await eventually(async () => expect(await stored.queue()).to.have.length(1));
        await held.release();
        const again = own.acquire();
        await eventually(async () => expect(await stored.queue()).to.have.length(1));
        await (await second).release();
        // Only heard.
        await (await again).release();
      } finally {
        await Promise.all([own.close(), other.close()]);
        await Promise.all([end(), well.end()]);
      }
    });
  }

  it('to a client of ioredis whose commands take too long while it subscribes', async () => {
    const proxy = await startProxy(server().port);
    const client = new Redis({
      port: server().port,
      commandTimeout: 100,
      enableReadyCheck: false,
    }).on('error', ignore);
    // Only its copies go through the proxy, which hangs.
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (options) => duplicate({ ...options, port: proxy.port });
    proxy.hang(true);
    const name = newName();
    const semaphore = new Semaphore(client, name, { limit: 1 });
    try {
      const held = await semaphore.acquire();
      const waiting = semaphore.acquire();
      const sent: number[] = [];
      await eventually(() => {
        // Bytes of a try that came after another was over.
        if (proxy.connections > 0 && proxy.requests !== sent.at(-1)) sent.push(proxy.requests);
        expect(sent.length).to.be.at.least(3);
      });
      proxy.hang(false);
      await new StoredSemaphore(server(), name).expectListening();
      await held.release();
      await (await waiting).release();
    } finally {
      await semaphore.close();
      client.disconnect();
      await proxy.stop();
    }
  });
});
