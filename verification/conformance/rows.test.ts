import { expect } from 'chai';

import { needsOf } from '../../test/conformance/case-group.js';
import { limitsOf } from '../../test/conformance/row-limits.js';
import type { Row } from '../../test/conformance/row.js';
import { ioredisMockRow } from '../../test/conformance/rows/ioredis-mock-row.js';
import { ioredisRows } from '../../test/conformance/rows/ioredis-rows.js';
import { memoryRow } from '../../test/conformance/rows/memory-row.js';
import { nodeRedisRows } from '../../test/conformance/rows/node-redis-rows.js';
import { portRow } from '../../test/conformance/rows/port-row.js';
import { allGroups, semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { realPassage as passage } from './real-passage.js';

describe('conformance, with time', () => {
  semaphoreSuite(memoryRow(), { passage });
  semaphoreSuite(ioredisMockRow(), { passage });

  describeWithServer('on a real server', (server) => {
    const rows = [...nodeRedisRows(server), ...ioredisRows(server), portRow(server)];
    for (const row of rows) semaphoreSuite(row, { passage });

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
  return allGroups.flatMap((group) =>
    Object.entries(group.cases)
      .filter(([, entry]) => needsOf(group, entry).some((ability) => limits[ability] !== undefined))
      .map(([title]) => `${row.title}: ${title}`),
  );
}
