import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';

import { Semaphore } from '../../src/index.js';
import { clientKinds, type OpenClient, openClient } from '../support/open-client.js';
import { reasonOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';

describeWithServer('what goes over the wire', (server) => {
  for (const kind of clientKinds) {
    describe(`by ${kind}`, () => {
      let client: OpenClient;
      let asking: Redis;
      let monitor: Redis;
      /** The commands of clients themselves, without the calls of scripts. */
      let seen: string[][];

      beforeEach(async () => {
        client = await openClient(kind, server().url);
        asking = new Redis(server().port, '127.0.0.1');
        monitor = await asking.monitor();
        seen = [];
        monitor.on('monitor', (_time: string, command: string[], source: string) => {
          if (source !== 'lua') seen.push(command);
        });
      });

      afterEach(async () => {
        for (const each of [asking, monitor]) each.disconnect();
        await client.close();
      });

      /** All commands since the last look, in lower case. */
      async function commands(): Promise<string[]> {
        const mark = randomUUID();
        await asking.echo(mark);
        // The server shows commands in the order of execution: all before the mark are there.
        while (!seen.some(([, word]) => word === mark)) await once(monitor, 'monitor');
        const names = seen.splice(0).map(([name = '']) => name.toLowerCase());
        return names.filter((name) => name !== 'echo');
      }

      /** The commands of `act`, after a first run, which may have to send texts of scripts. */
      async function commandsOf(act: () => Promise<unknown>): Promise<string[]> {
        await act();
        await commands();
        await act();
        return commands();
      }

      it('is one command for an acquire and one for a release', async () => {
        const sem = new Semaphore(client.target, `one-${kind}`, { limit: 2 });
        for (const acquire of [
          () => sem.acquire(),
          () => sem.acquire(20_000),
          () => sem.tryAcquire(),
        ]) {
          const pair = async () => expect(await (await acquire())?.release()).to.equal(true);
          expect(await commandsOf(pair)).to.deep.equal(['evalsha', 'evalsha']);
        }
        const used = await commandsOf(() => sem.use(() => undefined));
        expect(used).to.deep.equal(['evalsha', 'evalsha']);
        await sem.close();
        expect(await commands()).to.deep.equal([]);
      });

      // What travels together is decided before any client gets it.
      if (kind !== 'ioredis') return;

      it('is one command for a hundred semaphores, or for any requests of a full queue', async () => {
        const all = Array.from({ length: 100 }, (_, i) => {
          return new Semaphore(client.target, `s${i}`, { limit: 1, prefix: 'hundred' });
        });
        const round = async (): Promise<void> => {
          const held = await Promise.all(all.map((semaphore) => semaphore.acquire(20_000)));
          await Promise.all(held.map((handle) => handle.extend()));
          await Promise.all(held.map((handle) => handle.release()));
        };
        expect(await commandsOf(round)).to.deep.equal(['evalsha', 'evalsha', 'evalsha']);
        await Promise.all(all.map((semaphore) => semaphore.close()));
        const sem = new Semaphore(client.target, `full-${kind}`, { limit: 1, maxWaiting: 0 });
        await sem.acquire();
        const refused = async (): Promise<void> => {
          const requests = Array.from({ length: 50 }, () => reasonOf(sem.acquire(20_000)));
          for (const error of await Promise.all(requests)) {
            expect(error).to.include({ code: 'QUEUE_FULL' });
          }
        };
        // A request that holds nothing is not given back.
        expect(await commandsOf(refused)).to.deep.equal(['evalsha']);
        await sem.close();
      });
    });
  }
});
