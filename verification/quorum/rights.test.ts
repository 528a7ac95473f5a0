import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { leastRights } from '../../test/support/least-rights.js';
import { openClient } from '../../test/support/open-client.js';
import type { SingleTarget } from '../../src/targets.js';
import { describeWithMasters } from '../../test/quorum/servers.js';

describeWithMasters("a user's rights on each master", 3, (masters) => {
  before(async () => {
    for (const server of masters().servers) {
      const user = ['reset', 'on', '>secret', 'resetchannels', '-@all', ...leastRights];
      await server.command('ACL', 'SETUSER', 'limited', ...user);
    }
  });

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`suffice when they are those that the README lists, over ${kind}`, async () => {
      const clients = await Promise.all(
        masters().urls.map(async (url) =>
          openClient(kind, url.replace('redis://', 'redis://limited:secret@')),
        ),
      );
      for (const server of masters().servers) await server.command('ACL', 'LOG', 'RESET');
      const targets = clients.map(({ target }) => target as SingleTarget);
      const semaphore = new Semaphore(targets, `rights-${kind}`, { limit: 2 });
      const handle = await semaphore.acquire({ permits: 2, timeout: 2000 });
      await handle.extend();
      // One lost it, and gets it back.
      const [first] = masters().servers;
      await first?.command(
        'DEL',
        `redsem:{rights-${kind}}:qslots`,
        `redsem:{rights-${kind}}:qmeta`,
      );
      await handle.extend();
      expect(await semaphore.tryAcquire()).to.equal(null);
      expect((await semaphore.inspect()).held).to.equal(2);
      expect(await handle.release()).to.equal(true);
      for (const server of masters().servers) {
        const log = JSON.stringify(await server.command('ACL', 'LOG'));
        expect(log).not.to.match(/lua|script/);
      }
      await semaphore.close();
      for (const client of clients) await client.close();
    });
  }
});
