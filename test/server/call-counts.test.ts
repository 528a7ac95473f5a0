import { expect } from 'chai';

import type { Semaphore } from '../../src/index.js';
import { itThrough, newName } from '../support/client-fixture.js';
import { describeWithServer } from '../support/require-server.js';

describeWithServer('the server runs', (server) => {
  itThrough(
    'ioredis',
    'few scripts a grant for 24 clients of as many groups that wait for a rate',
    async (clients) => {
      const name = newName();
      const rate = { permits: 50, per: 1000 };
      const semaphores: Semaphore[] = [];
      for (let i = 0; i < 24; i++) {
        const client = await clients.connect(server().port);
        semaphores.push(clients.semaphore(client.target, name, { limit: 1000, rate }));
      }
      await server().command('CONFIG', 'RESETSTAT');
      const uses = semaphores.flatMap((semaphore, i) => {
        return Array.from({ length: 3 }, () => semaphore.use(() => {}, { group: `group ${i}` }));
      });
      await Promise.all(uses);
      const stats = String(await server().command('INFO', 'commandstats'));
      const scripts = Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
      // Each of 72 needs three; the rest renews the leases of waiting clients.
      expect(scripts / 72).to.be.within(1, 6);
    },
  );
});
