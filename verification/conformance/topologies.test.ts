import { acquireCases } from '../../test/conformance/cases/acquire-cases.js';
import { keyCases } from '../../test/conformance/cases/key-cases.js';
import { nameCases } from '../../test/conformance/cases/name-cases.js';
import { waitingCases } from '../../test/conformance/cases/waiting-cases.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import { describeWithMasters } from '../../test/quorum/servers.js';
import { describeWithCluster, describeWithSentinels } from '../support/require-topology.js';
import { realPassage as passage } from './real-passage.js';
import { clusterRows, quorumRows, sentinelRows } from './topology-rows.js';

describeWithCluster('conformance on a Redis Cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  const groups = [acquireCases, waitingCases, nameCases];
  for (const row of all) semaphoreSuite(row, { passage });
  for (const row of others) semaphoreSuite(row, { groups, passage });
});

describeWithSentinels('conformance with sentinels', (sentinels) => {
  const groups = [acquireCases, waitingCases, keyCases];
  for (const row of sentinelRows(sentinels)) semaphoreSuite(row, { groups, passage });
});

describeWithMasters('conformance on a quorum of three independent masters', 3, (masters) => {
  for (const row of quorumRows(masters)) semaphoreSuite(row, { passage });
});
