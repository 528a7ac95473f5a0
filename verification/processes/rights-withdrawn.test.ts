import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { clientKinds, type OpenClient, openClient } from '../../test/support/open-client.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('the right to subscribe, withdrawn while waiters listen', (server) => {
  let client: OpenClient | undefined;

  afterEach(() => client?.close());

  for (const kind of clientKinds) {
    it(`costs time, but neither a permit nor an unhandled rejection (${kind})`, async () => {
      await server().command('ACL', 'SETUSER', kind, 'on', '>word', 'allkeys', '+@all', '&*');
      client = await openClient(kind, `redis://${kind}:word@127.0.0.1:${server().port}`);
      const sem = new Semaphore(client.target, `rights-${kind}`, { limit: 1, prefix: kind });
      const handle = await sem.acquire();
      const acquiring = sem.acquire(10_000);
      await eventually(async () => {
        const channels = await server().command('PUBSUB', 'CHANNELS', `${kind}:*`);
        return (channels as string[]).length > 0;
      }, 'the subscription stands');
      const before = await refusals();
      // Ends the subscriber's connection, too; its client connects and subscribes again by itself.
      await server().command('ACL', 'SETUSER', kind, 'resetchannels');
      await eventually(async () => (await refusals()) > before, 'it is refused');
      await sleep(20);
      await handle.release();
      expect((await acquiring).held).to.equal(true);
      await sem.close();
    });
  }

  async function refusals(): Promise<number> {
    const counts = await server().stat('commandstats', 'cmdstat_subscribe');
    return Number(/rejected_calls=(\d+)/.exec(counts)?.[1] ?? 0);
  }
});
