import { describeWithCluster } from '../support/require-topology.js';
import { acquireCases } from './cases/acquire-cases.js';
import { nameCases } from './cases/name-cases.js';
import { waitingCases } from './cases/waiting-cases.js';
import { clusterRows } from './rows/cluster-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithCluster('conformance on a Redis Cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  for (const row of all) semaphoreSuite(row);
  for (const row of others) semaphoreSuite(row, [acquireCases, waitingCases, nameCases]);
});
