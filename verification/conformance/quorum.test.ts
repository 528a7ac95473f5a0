import { describeWithMasters } from '../../test/quorum/servers.js';
import { quorumRows } from './rows/quorum-rows.js';
import { realPassage as passage } from './real-passage.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';

describeWithMasters('conformance on a quorum of three independent masters', 3, (masters) => {
  for (const row of quorumRows(masters)) semaphoreSuite(row, { passage });
});
