import { groupsIn, semaphoreSuite } from '../../test/conformance/semaphore-suite.js';
import { describeWithMasters } from '../../test/quorum/servers.js';
import { describeWithCluster, describeWithSentinels } from '../support/require-topology.js';
import { realPassage as passage } from './real-passage.js';
import { clusterRows, quorumRows, sentinelRows } from './topology-rows.js';

const forClusters = await groupsIn('acquire-cases', 'waiting-cases', 'name-cases');
const forSentinels = await groupsIn('acquire-cases', 'waiting-cases', 'key-cases');

describeWithCluster('conformance on a Redis Cluster', (cluster) => {
  const { all, others } = clusterRows(cluster);
  for (const row of all) semaphoreSuite(row, { passage });
  for (const row of others) semaphoreSuite(row, { groups: forClusters, passage });
});

describeWithSentinels('conformance with sentinels', (sentinels) => {
  for (const row of sentinelRows(sentinels)) {
    semaphoreSuite(row, { groups: forSentinels, passage });
  }
});

describeWithMasters('conformance on a quorum of three independent masters', 3, (masters) => {
  for (const row of quorumRows(masters)) semaphoreSuite(row, { passage });
});
