import { describeWithMasters } from '../../test/quorum/servers.js';
import { quorumGroups } from './rows/quorum-groups.js';
import { quorumRows } from './rows/quorum-rows.js';
import { realPassage as passage } from './real-passage.js';
import { allGroups, semaphoreSuite } from '../../test/conformance/semaphore-suite.js';

describeWithMasters('conformance on a quorum of three independent masters', 3, (masters) => {
  const groups = quorumGroups(allGroups);
  for (const row of quorumRows(() => masters().servers)) semaphoreSuite(row, { groups, passage });
});
