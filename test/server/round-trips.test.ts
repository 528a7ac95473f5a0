import { expect } from 'chai';

import { type Handle, Semaphore } from '../../src/index.js';
import { clientKinds, type OpenClient, openClient } from '../support/open-client.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';
import { type CommandMonitor, startMonitor } from '../support/command-monitor.js';

/** What an uncontended pair sends, in bytes: today's most (a name of 8 bytes, the default prefix) and a fifth. */
const acquireBudget = 456;
const releaseBudget = 357;
const rounds = 50;

describeWithServer('what goes over the wire', (server) => {
  let client: OpenClient | undefined;
  let monitor: CommandMonitor | undefined;

  afterEach(async () => {
    monitor?.stop();
    await client?.close();
  });

  for (const kind of clientKinds) {
    it(`is one command for an acquire and one for a release (${kind})`, async () => {
      client = await openClient(kind, server().url);
      const watched = await startMonitor(server());
      monitor = watched;
      const sem = new Semaphore(client.target, `one-${kind}`, { limit: 2 });
      // The first use may have to send the script's text.
      await (await sem.acquire()).release();
      await watched.names();
      for (const acquire of [
        () => sem.acquire(),
        () => sem.acquire(20_000),
        () => sem.tryAcquire(),
      ]) {
        const handle = await acquire();
        expect(await watched.names()).to.deep.equal(['evalsha']);
        expect(await handle?.release()).to.equal(true);
        expect(await watched.names()).to.deep.equal(['evalsha']);
      }
      await sem.use(() => undefined);
      expect(await watched.names()).to.deep.equal(['evalsha', 'evalsha']);
      await sem.close();
      expect(await watched.names()).to.deep.equal([]);
    });

    it(`is few bytes (${kind})`, async () => {
      client = await openClient(kind, server().url);
      const sem = new Semaphore(client.target, 'encoders', {
        limit: 5,
        label: 'somehost.local:12345',
      });
      await (await sem.acquire()).release();
      let handle: Handle | undefined;
      const sent = { acquire: 0, release: 0 };
      for (let round = 0; round < rounds; round += 1) {
        sent.acquire += await bytesOf(server(), async () => {
          handle = await sem.acquire();
        });
        sent.release += await bytesOf(server(), async () => {
          await handle?.release();
        });
      }
      expect(sent.acquire / rounds).to.be.within(1, acquireBudget);
      expect(sent.release / rounds).to.be.within(1, releaseBudget);
      await sem.close();
    });
  }
});

/** Bytes that the server received while `action` ran, less those of the looking itself. */
async function bytesOf(server: TestServer, action: () => Promise<void>): Promise<number> {
  const before = await received(server);
  const looked = await received(server);
  await action();
  return (await received(server)) - looked - (looked - before);
}

async function received(server: TestServer): Promise<number> {
  return Number(await server.stat('stats', 'total_net_input_bytes'));
}
