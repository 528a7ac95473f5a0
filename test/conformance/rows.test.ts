import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { needsOf } from './case-group.js';
import { expiryCases } from './cases/expiry-cases.js';
import { manualClockCases } from './cases/manual-clock-cases.js';
import { limitsOf } from './row-limits.js';
import type { Row } from './row.js';
import { ioredisMockRow } from './rows/ioredis-mock-row.js';
import { ioredisRows } from './rows/ioredis-rows.js';
import { manualClockRow, memoryRow } from './rows/memory-row.js';
import { nodeRedisRows } from './rows/node-redis-rows.js';
import { portRow } from './rows/port-row.js';
import { allGroups, semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  semaphoreSuite(manualClockRow(), [expiryCases, manualClockCases]);
  semaphoreSuite(ioredisMockRow());

  describeWithServer('on a real server', (server) => {
    const rows = [...nodeRedisRows(server), ...ioredisRows(server), portRow(server)];
    for (const row of rows) semaphoreSuite(row);

    it('runs every case on a client of each library', () => {
      for (const library of ['redis', 'ioredis']) {
        const ofLibrary = rows.filter(({ title }) => title.startsWith(library));
        expect(ofLibrary.flatMap(missingCases), library).to.deep.equal([]);
      }
    });
  });
});

/** The cases that a row leaves out. */
function missingCases(row: Row): string[] {
  const limits = limitsOf(row.title);
  return allGroups.flatMap(({ cases }) =>
    Object.entries(cases)
      .filter(([, entry]) => needsOf(entry).some((ability) => limits[ability] !== undefined))
      .map(([title]) => `${row.title}: ${title}`),
  );
}
