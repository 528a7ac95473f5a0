import { expect } from 'chai';

import { acquire as acquireOperation } from '../../src/backends/redis/acquire.js';
import { KeyedMutex, Semaphore } from '../../src/index.js';
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

      it('is one command for a hundred semaphores; a damaged one fails alone', async () => {
        const { target } = client;
        const prefix = `hundred-${kind}`;
        const all = Array.from({ length: 100 }, (_, i) => {
          return new Semaphore(target, `s${i}`, { limit: 1, prefix });
        });
        const round = async (): Promise<number[]> => {
          const outcomes = await Promise.allSettled(
            all.map((semaphore) => semaphore.acquire(20_000)),
          );
          const failed = outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []));
          const held = outcomes.flatMap((outcome) => ('value' in outcome ? outcome.value : []));
          await Promise.all(held.map((handle) => handle.extend()));
          await Promise.all(held.map((handle) => handle.release()));
          return failed;
        };
        await round();
        await watched.names();
        expect(await round()).to.deep.equal([]);
        expect(await watched.names()).to.deep.equal(['evalsha', 'evalsha', 'evalsha']);
        await server().command('DEL', `${prefix}:{s50}:tickets`);
        await server().command('SET', `${prefix}:{s50}:tickets`, 'damaged');
        await watched.names();
        const acquires = async (): Promise<number> => {
          const commands = await watched.commands();
          return commands.filter(({ rest }) => rest.includes(acquireOperation.script.sha1)).length;
        };
        expect(await round()).to.deep.equal([50]);
        expect(await acquires(), 'all in one, then each alone').to.equal(101);
        expect(await round()).to.deep.equal([50]);
        expect(await acquires(), 'the damaged one, and all others').to.equal(2);
        await Promise.all(all.map((semaphore) => semaphore.close()));
      });

      it('is one command for ten keys of a keyed mutex, free or not', async () => {
        const mutex = new KeyedMutex(client.target, { name: `ten-${kind}` });
        const keys = Array.from({ length: 10 }, (_, i) => `key ${i}`);
        await mutex.use(keys, () => undefined);
        await watched.names();
        const handle = await mutex.acquire(keys, 20_000);
        expect(await watched.names()).to.deep.equal(['evalsha']);
        expect(await mutex.tryAcquire(keys)).to.equal(null);
        expect(await watched.names()).to.deep.equal(['evalsha']);
        expect(await handle.release()).to.equal(true);
        expect(await watched.names()).to.deep.equal(['evalsha']);
        await mutex.close();
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
