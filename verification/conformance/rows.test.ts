import { expect } from 'chai';

import { casesOf } from '../../test/conformance/case-group.js';
import type { Row } from '../../test/conformance/row.js';
import { ioredisMockRow } from '../../test/conformance/rows/ioredis-mock-row.js';
import { memoryRow } from '../../test/conformance/rows/memory-row.js';
import { serverRows } from '../../test/conformance/rows/server-rows.js';
import { allGroups, semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { realPassage as passage } from './real-passage.js';

describe('conformance, with time', () => {
  semaphoreSuite(memoryRow(), { passage });
  semaphoreSuite(ioredisMockRow(), { passage });

  describeWithServer('on a real server', (server) => {
    const rows = serverRows(server);
    for (const row of rows) semaphoreSuite(row, { passage });

    it('runs every case on each client of each library', () => {
      const clients = rows.filter(({ title }) => /^(io)?redis \d/.test(title));
      expect(clients).to.have.lengthOf(7);
      expect(clients.flatMap(missingCases)).to.deep.equal([]);
    });
  });
});

/** The cases that a row leaves out. */
function missingCases({ title: row, lacks }: Row): string[] {
  return allGroups
    .flatMap(casesOf)
    .filter(({ needs }) => needs.some((ability) => lacks[ability] !== undefined))
    .map(({ title }) => `${row}: ${title}`);
}
