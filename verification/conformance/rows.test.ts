import { expect } from 'chai';

import { ioredisMockRow } from '../../test/conformance/rows/ioredis-mock-row.js';
import { memoryRow } from '../../test/conformance/rows/memory-row.js';
import { redisRow } from '../../test/conformance/rows/redis-row.js';
import { serverRows } from '../../test/conformance/rows/server-rows.js';
import { allGroups, groupsIn, semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import { leastRights } from '../support/least-rights.js';
import { openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { realPassage as passage } from './real-passage.js';

// Their keys have other prefixes.
const names = await groupsIn('name-cases');

describe('conformance, with time', () => {
  semaphoreSuite(memoryRow(), { passage });
  // Its Lua runs in JavaScript: a script keeps the timers of the process waiting.
  semaphoreSuite(ioredisMockRow(), { passage: { ...passage, late: 1000 } });

  describeWithServer('on a real server', (server) => {
    const rows = serverRows(server);
    for (const row of rows) semaphoreSuite(row, { passage });

    describe('whose user has the least rights', () => {
      const limited = { username: 'limited', password: 'secret' };

      before(async () => {
        const rights = ['on', `>${limited.password}`, 'resetchannels', '-@all', ...leastRights];
        await server().command('ACL', 'SETUSER', limited.username, ...rights);
        await server().command('SCRIPT', 'FLUSH');
      });

      const groups = allGroups.filter((group) => !names.includes(group));
      const lacks = { server: 'its user may do less' };
      const url = (): string => server().url.replace('//', '//limited:secret@');
      for (const kind of ['redis', 'ioredis'] as const) {
        const row = redisRow(`over ${kind}`, server, () => openClient(kind, url()), lacks);
        semaphoreSuite(row, { groups, passage });
      }

      it('was refused nothing that a script asked for', async () => {
        // A client may ask for more while it connects (INFO, CLIENT SETINFO): that is its own
        // affair.
        expect(String(await server().command('ACL', 'LOG')).split(',')).to.not.include('lua');
      });
    });

    it('runs every case on each client of each library', () => {
      const clients = rows.filter(({ title }) => /^(io)?redis \d/.test(title));
      expect(clients).to.have.lengthOf(8);
      const lacks = new Set(clients.flatMap((row) => Object.keys(row.lacks)));
      const missing = allGroups.filter(({ needs }) => needs.some((ability) => lacks.has(ability)));
      expect(missing.map(({ title }) => title)).to.deep.equal([]);
    });
  });
});
