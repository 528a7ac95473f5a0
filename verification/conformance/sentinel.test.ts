import { describeWithSentinels } from '../support/require-topology.js';
import { acquireCases } from '../../test/conformance/cases/acquire-cases.js';
import { keyCases } from '../../test/conformance/cases/key-cases.js';
import { waitingCases } from '../../test/conformance/cases/waiting-cases.js';
import { sentinelRows } from './rows/sentinel-rows.js';
import { realPassage as passage } from './real-passage.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';

describeWithSentinels('conformance with sentinels', (sentinels) => {
  const groups = [acquireCases, waitingCases, keyCases];
  for (const row of sentinelRows(sentinels)) semaphoreSuite(row, { groups, passage });
});
