import { expect } from 'chai';

import { type Handle, ManualClock, Semaphore } from '../../src/index.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type CommandMonitor, startMonitor } from '../../test/support/command-monitor.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('a hand-off to a waiter in another process', (server) => {
  let clients: OpenClient[] = [];
  let monitor: CommandMonitor | undefined;

  afterEach(async () => {
    monitor?.stop();
    await Promise.all(clients.map((client) => client.close()));
  });

  for (const [ttl, kind] of [
    [1900, 'redis'],
    [30_000, 'ioredis'],
    [600_000, 'redis'],
  ] as const) {
    it(`costs one call, and a short task no third one (ttl ${ttl} ms, ${kind})`, async () => {
      clients = await Promise.all([openClient(kind, server().url), openClient(kind, server().url)]);
      const watched = await startMonitor(server());
      monitor = watched;
      const name = 'hand-off';
      const prefix = `ttl-${ttl}`;
      const clock = new ManualClock();
      // Tickets are not extended meanwhile, except to claim them.
      const [from, to] = clients.map(
        ({ target }) =>
          new Semaphore(target, name, { limit: 1, ttl, extendEvery: 0, prefix, clock }),
      ) as [Semaphore, Semaphore];
      // The first round makes the subscription.
      const { first: gate, acquiring: passed } = await queueUp(from, to);
      await eventually(() => hasChannel(prefix), 'the subscription stands');
      await gate.release();
      await (await passed).release();
      const { first, acquiring } = await queueUp(from, to);
      await watched.names();
      await first.release();
      const second = await acquiring;
      expect(await watched.names()).to.deep.equal(['evalsha']);
      await clock.advance(49);
      expect(second.held).to.equal(true);
      expect(await second.release()).to.equal(true);
      expect(await watched.names()).to.deep.equal(['evalsha']);
      await Promise.all([from.close(), to.close()]);
    });
  }

  async function hasChannel(prefix: string): Promise<boolean> {
    const channels = await server().command('PUBSUB', 'CHANNELS', `${prefix}:*`);
    return (channels as string[]).length > 0;
  }
});

async function queueUp(
  from: Semaphore,
  to: Semaphore,
): Promise<{ first: Handle; acquiring: Promise<Handle> }> {
  const first = await from.acquire();
  const acquiring = to.acquire();
  await eventually(async () => (await to.inspect()).waiting === 1, 'it waits');
  return { first, acquiring };
}
