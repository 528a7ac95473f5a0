import { describeWithSentinels } from '../support/require-topology.js';
import { acquireCases } from './cases/acquire-cases.js';
import { keyCases } from './cases/key-cases.js';
import { loadCases } from './cases/load-cases.js';
import { waitingCases } from './cases/waiting-cases.js';
import { sentinelRows } from './rows/sentinel-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithSentinels('conformance with sentinels', (sentinels) => {
  const groups = [acquireCases, waitingCases, keyCases, loadCases];
  for (const row of sentinelRows(sentinels)) semaphoreSuite(row, groups);
});
