import { expect } from 'chai';

import type { SemaphoreOptions } from '../../src/index.js';
import { AcquireTimeoutError, QuorumError, Semaphore } from '../../src/index.js';
import { describeWithMasters } from '../../test/quorum/servers.js';
import { eventually } from '../../test/support/eventually.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { errorOf } from '../../test/support/rejection.js';

let names = 0;

for (const kind of ['redis', 'ioredis'] as const) {
  describeWithMasters(`independent masters over clients of ${kind}`, 5, (masters) => {
    let name: string;
    let semaphores: Semaphore[];
    let first: TestServer;
    let others: readonly TestServer[];

    beforeEach(() => {
      names += 1;
      name = `fault-${names}`;
      semaphores = [];
      [first, ...others] = masters().servers.slice(0, 3) as [TestServer, ...TestServer[]];
    });

    afterEach(async () => {
      for (const server of masters().servers) {
        server.resume();
        await server.command('PING').catch(() => server.restart());
      }
      await Promise.all(semaphores.map((semaphore) => semaphore.close()));
    });

    /** With separate clients to some masters. */
    async function open(options: SemaphoreOptions, places = [0, 1, 2]): Promise<Semaphore> {
      const clients = await masters().connect(kind);
      const semaphore = new Semaphore(
        places.flatMap((place) => clients[place] ?? []),
        name,
        options,
      );
      semaphores.push(semaphore);
      return semaphore;
    }

    const on = (server: TestServer, command: string, ...args: string[]) =>
      server.command(command, `redsem:{${name}}:qslots`, ...args);

    it('say why, node by node, when most are down', async () => {
      const semaphore = await open({ limit: 1, ttl: 5000 });
      await (await semaphore.acquire(2000)).release();
      await Promise.all(others.map((server) => server.kill()));
      const { cause } = await errorOf(semaphore.acquire(1500), AcquireTimeoutError);
      if (!(cause instanceof QuorumError)) throw cause;
      const known = cause.reasons.map((reason) => reason instanceof Error);
      expect(known).to.deep.equal([false, true, true]);
      expect(cause.message).to.include('1 of 3 nodes answered').and.to.include('node 2: ');
      const waiting = semaphore.acquire(10_000);
      await Promise.all(others.map((server) => server.restart()));
      expect(await waiting).to.include({ held: true });
    });

    it('take many permits as one ticket, and hold nothing but a small hash with an expiry afterwards', async () => {
      const semaphore = await open({ limit: 10_000, ttl: 30_000 });
      const handle = await semaphore.acquire({ permits: 5000, timeout: 20_000 });
      const small = await semaphore.acquire(20_000);
      await handle.extend();
      const { held, holders } = await semaphore.inspect();
      expect(held).to.equal(5001);
      expect(holders.map(({ slots }) => slots.length)).to.deep.equal([5000, 1]);
      const meta = `redsem:{${name}}:qmeta`;
      for (const server of [first, ...others]) {
        await eventually(async () => {
          expect(Number(await on(server, 'PTTL'))).to.be.within(20_000, 31_100);
          expect(Number(await server.command('PTTL', meta))).to.be.within(86_400_000, 86_432_000);
        });
      }
      for (const one of [handle, small]) expect(await one.release()).to.equal(true);
      for (const server of [first, ...others]) {
        await eventually(async () => {
          expect(await server.command('KEYS', `*{${name}}*`)).to.deep.equal([meta]);
        });
      }
    });
  });
}
