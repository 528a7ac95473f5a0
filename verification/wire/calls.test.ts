import { expect } from 'chai';

import { type Handle, ManualClock, Semaphore } from '../../src/index.js';
import { startMonitor } from '../../test/support/command-monitor.js';
import { eventually } from '../../test/support/eventually.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { untilSubscribed } from '../../test/support/subscribers.js';

describeWithServer('calls', (server) => {
  const clients: OpenClient[] = [];

  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  async function open(kind: ClientKind): Promise<OpenClient> {
    const client = await openClient(kind, server().url);
    clients.push(client);
    return client;
  }

  for (const [ttl, kind] of [
    [1900, 'redis'],
    [600_000, 'ioredis'],
  ] as const) {
    it(`of a hand-off between processes: one, and no third for a short task (ttl ${ttl}, ${kind})`, async () => {
      const clock = new ManualClock();
      const options = { limit: 1, ttl, extendEvery: 0, clock };
      const [from, to] = (await Promise.all([open(kind), open(kind)])).map(
        ({ target }) => new Semaphore(target, `hand-off ${ttl}`, options),
      ) as [Semaphore, Semaphore];
      const queueUp = async (): Promise<[Handle, Promise<Handle>]> => {
        const first = await from.acquire();
        const acquiring = to.acquire();
        await eventually(async () => (await from.inspect()).waiting === 1, 'it waits');
        await untilSubscribed(server(), 1);
        return [first, acquiring];
      };
      const monitor = await startMonitor(server());
      // The first round makes the subscription.
      const [gate, passed] = await queueUp();
      await gate.release();
      await (await passed).release();
      const [first, acquiring] = await queueUp();
      await monitor.names();
      await first.release();
      const second = await acquiring;
      await clock.advance(49);
      expect(second.held).to.equal(true);
      expect(await second.release()).to.equal(true);
      const scripts = (await monitor.names()).filter((name) => name.startsWith('eval'));
      expect(scripts).to.deep.equal(['evalsha', 'evalsha']);
      monitor.stop();
      await Promise.all([from.close(), to.close()]);
    });
  }
});
