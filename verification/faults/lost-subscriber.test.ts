import { Redis, type RedisOptions } from 'ioredis';
import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
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
