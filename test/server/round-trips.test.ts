import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { clientKinds, type OpenClient, openClient } from '../support/open-client.js';
import { reasonOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';
import { type CommandMonitor, startMonitor } from '../support/command-monitor.js';

describeWithServer('what goes over the wire', (server) => {
  for (const kind of clientKinds) {
    describe(`by ${kind}`, () => {
      let client: OpenClient;
      let watched: CommandMonitor;

      beforeEach(async () => {
        client = await openClient(kind, server().url);
        watched = await startMonitor(server());
      });

      afterEach(async () => {
        watched.stop();
        await client.close();
      });

      it('is one command for an acquire and one for a release', async () => {
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

      // What travels together is decided before any client gets it.
      if (kind !== 'ioredis') return;

      it('is one command for a hundred semaphores', async () => {
        const all = Array.from({ length: 100 }, (_, i) => {
          return new Semaphore(client.target, `s${i}`, { limit: 1, prefix: 'hundred' });
        });
        const round = async (): Promise<void> => {
          const held = await Promise.all(all.map((semaphore) => semaphore.acquire(20_000)));
          await Promise.all(held.map((handle) => handle.extend()));
          await Promise.all(held.map((handle) => handle.release()));
        };
        await round();
        await watched.names();
        await round();
        expect(await watched.names()).to.deep.equal(['evalsha', 'evalsha', 'evalsha']);
        await Promise.all(all.map((semaphore) => semaphore.close()));
      });

      it('is one command for any number of requests when the queue is full', async () => {
        const sem = new Semaphore(client.target, `full-${kind}`, { limit: 1, maxWaiting: 0 });
        const holder = await sem.acquire();
        await watched.names();
        for (const requests of [1, 50]) {
          const refused = Array.from({ length: requests }, () => reasonOf(sem.acquire(20_000)));
          for (const error of await Promise.all(refused)) {
            expect(error).to.include({ code: 'QUEUE_FULL' });
          }
          // What holds nothing is not given back.
          expect(await watched.names()).to.deep.equal(['evalsha']);
        }
        await holder.release();
        await sem.close();
      });
    });
  }
});
