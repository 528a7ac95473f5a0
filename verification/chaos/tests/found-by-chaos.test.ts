import { expect } from 'chai';

import { type Handle, Semaphore } from '../../../src/index.js';
import { type ClientKind, type OpenClient, openClient } from '../../../test/support/open-client.js';
import { type FaultProxy, startProxy } from '../../../test/support/fault-proxy.js';
import type { TestServer } from '../../../test/support/redis-server.js';
import { describeWithFakeClock, describeWithServer } from '../../../test/support/require-server.js';
import { eventually } from '../../../test/support/eventually.js';

const kinds = ['redis', 'ioredis'] as const satisfies readonly ClientKind[];

// Each of these began as the history of a chaos run, whose command stands with it.

describeWithServer('a ttl below the claim time', (server) => {
  let proxy: FaultProxy;
  let clients: OpenClient[];

  beforeEach(async () => {
    proxy = await startProxy(server().port);
  });

  afterEach(async () => {
    for (const client of clients) await client.close();
    await proxy.stop();
  });

  // --seed 8 --minutes 0.2 --ttl 600: 4 of 3 permits were held while a process was stopped.
  for (const kind of kinds) {
    it(`a pushed grant is believed in no longer than the server keeps it, by ${kind}`, async () => {
      const name = `short ttl ${kind}`;
      const options = { limit: 1, ttl: 1500 };
      clients = await Promise.all([
        openClient(kind, server().url),
        openClient(kind, `redis://127.0.0.1:${proxy.port}`),
      ]);
      const [direct, cutOff] = clients.map(({ target }) => new Semaphore(target, name, options));
      if (direct === undefined || cutOff === undefined) throw new Error('no semaphores');
      const second = await pushedTo(server(), direct, cutOff);
      await second.extend();
      proxy.hang(true);
      const third = await direct.acquire(5000);
      expect(second.held, 'the first holder, while the next one holds').to.equal(false);
      expect(third.held).to.equal(true);
      proxy.hang(false);
      await Promise.all([direct.close(), cutOff.close()]);
    });
  }
});

/** What a handle of `to` is that the release of `from` pushed to it: not one that came with a reply to its own call. */
async function pushedTo(server: TestServer, from: Semaphore, to: Semaphore): Promise<Handle> {
  const pushes = async (): Promise<number> => (await server.calls())['publish'] ?? 0;
  for (;;) {
    const before = await pushes();
    const first = await from.acquire();
    const waiting = to.acquire();
    await eventually(async () => {
      const [client] = (await from.inspect()).waiters[0]?.id.split('.') ?? [];
      const channels = await server.command('PUBSUB', 'CHANNELS', `*${client}*`);
      return client !== undefined && Array.isArray(channels) && channels.length > 0;
    }, 'it waits for a push');
    await first.release();
    const second = await waiting;
    if ((await pushes()) > before) return second;
    await second.release();
  }
}

describeWithFakeClock('data lost while the clock is behind', (server) => {
  let proxy: FaultProxy;
  let clients: OpenClient[];

  beforeEach(async () => {
    proxy = await startProxy(server().port);
  });

  afterEach(async () => {
    for (const client of clients) await client.close();
    await proxy.stop();
  });

  // --seed 8 --minutes 0.2 --ttl 600: the history showed tokens fall after the data was lost; arrival numbers, of which
  // they are made, fall as well, so that a request was passed by all that came later until the clock had caught up.
  for (const kind of kinds) {
    it(`requests that return to their place stay before those that come later, by ${kind}`, async () => {
      clients = await Promise.all([
        openClient(kind, server().url),
        openClient(kind, `redis://127.0.0.1:${proxy.port}`),
      ]);
      const options = { limit: 1, ttl: 5000 };
      const [semaphore, other] = clients.map(
        ({ target }) => new Semaphore(target, `behind ${kind}`, options),
      );
      if (semaphore === undefined || other === undefined) throw new Error('no semaphores');
      const untilWaiting = (count: number): Promise<unknown> =>
        eventually(async () => (await semaphore.inspect()).waiting === count, `${count} wait`);
      const granted: string[] = [];
      const ask = async (asked: Semaphore, who: string): Promise<void> => {
        const handle = await asked.acquire();
        granted.push(who);
        await handle.release();
      };
      const lost = await semaphore.acquire();
      const early = ask(other, 'early');
      await untilWaiting(1);
      // It must not ask again before another has taken the permit.
      proxy.hang(true);
      await server().shiftClock(-5000);
      await server().command('FLUSHALL');
      const between = await semaphore.acquire();
      proxy.hang(false);
      await untilWaiting(1);
      const late = ask(semaphore, 'late');
      await untilWaiting(2);
      await between.release();
      await Promise.all([early, late]);
      expect(granted).to.deep.equal(['early', 'late']);
      expect(await lost.release()).to.equal(false);
      await Promise.all([semaphore.close(), other.close()]);
    });
  }
});
