import { describeWithCluster } from '../support/require-topology.js';
import { acquireCases } from '../../test/conformance/cases/acquire-cases.js';
import { nameCases } from '../../test/conformance/cases/name-cases.js';
import { waitingCases } from '../../test/conformance/cases/waiting-cases.js';
import { clusterRows } from './rows/cluster-rows.js';
import { realPassage as passage } from './real-passage.js';
import { semaphoreSuite } from '../../test/conformance/semaphore-suite.js';

describeWithCluster('conformance on a Redis Cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  const groups = [acquireCases, waitingCases, nameCases];
  for (const row of all) semaphoreSuite(row, { passage });
  for (const row of others) semaphoreSuite(row, { groups, passage });
});
