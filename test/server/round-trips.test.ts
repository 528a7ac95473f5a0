import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { clientKinds, type OpenClient, openClient } from '../support/open-client.js';
import { describeWithServer } from '../support/require-server.js';
import { type CommandMonitor, startMonitor } from '../support/command-monitor.js';

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
  }
});
