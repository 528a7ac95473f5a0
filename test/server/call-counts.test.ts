import { expect } from 'chai';

import type { Semaphore } from '../../src/index.js';
import { itThroughBothClients, newName } from '../support/client-fixture.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';

describeWithServer('the server runs', (server) => {
  itThroughBothClients(
    'as many commands for the thousandth change of a limit as for the tenth',
    async (clients) => {
      const client = await clients.connect(server().port);
      const semaphore = clients.semaphore(client.target, newName(), { limit: 10 });
      const counts: number[] = [];
      for (let i = 1; i <= 1000; i++) {
        const call = (): Promise<unknown> => semaphore.addPermits(i % 2 === 0 ? 1 : -1);
        if (i === 10 || i === 1000) counts.push(await countOf(server(), /./, call));
        else await call();
      }
      expect(counts[1]).to.be.within(1, 2 * (counts[0] ?? 0));
      expect(await longestText(server(), semaphore.name)).to.be.below(100);
    },
  );

  itThroughBothClients(
    'as many commands for the thousandth revoked ticket as for the tenth',
    async (clients) => {
      const client = await clients.connect(server().port);
      const semaphore = clients.semaphore(client.target, newName(), { limit: 1000 });
      const handles = await Promise.all(Array.from({ length: 1000 }, () => semaphore.acquire()));
      const counts: number[] = [];
      for (const [i, { id }] of handles.entries()) {
        const call = async (): Promise<void> => void (await semaphore.revoke(id));
        if (i === 9 || i === 999) counts.push(await countOf(server(), /./, call));
        else await call();
      }
      expect(counts[1]).to.be.within(1, 2 * (counts[0] ?? 0));
      expect(await longestText(server(), semaphore.name)).to.be.below(100);
    },
  );

  itThroughBothClients(
    'few scripts a grant for 24 clients of as many groups that wait for a rate',
    async (clients) => {
      const name = newName();
      const rate = { permits: 50, per: 1000 };
      const semaphores: Semaphore[] = [];
      for (let i = 0; i < 24; i++) {
        const client = await clients.connect(server().port);
        semaphores.push(clients.semaphore(client.target, name, { limit: 1000, rate }));
      }
      const scripts = await countOf(server(), /^evalsha$/, async () => {
        const uses = semaphores.flatMap((semaphore, i) => {
          return Array.from({ length: 5 }, () => semaphore.use(() => {}, { group: `group ${i}` }));
        });
        await Promise.all(uses);
      });
      // Each of 120 needs three; the rest renews the leases of waiting clients.
      expect(scripts / 120).to.be.below(6);
    },
  );
});

/** How many commands of that name the server runs for the call, inside scripts too. */
async function countOf(
  server: TestServer,
  name: RegExp,
  call: () => Promise<unknown>,
): Promise<number> {
  await server.command('CONFIG', 'RESETSTAT');
  await call();
  const stats = String(await server.command('INFO', 'commandstats'));
  const counts = [...stats.matchAll(/cmdstat_([^:|]+)[^:]*:calls=(\d+)/g)];
  const counted = counts.filter(([, found = '']) => name.test(found) && found !== 'config');
  return counted.reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

/** The length of the longest field's value or member under the keys of a semaphore. */
async function longestText(server: TestServer, name: string): Promise<number> {
  const keys = (await server.command('KEYS', `*{${name}}*`)) as string[];
  let longest = 0;
  for (const key of keys) {
    const isHash = (await server.command('TYPE', key)) === 'hash';
    const texts = isHash
      ? await server.command('HVALS', key)
      : await server.command('ZRANGE', key, '0', '-1');
    for (const text of texts as string[]) longest = Math.max(longest, text.length);
  }
  return longest;
}
