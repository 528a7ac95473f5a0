import { createCluster as createCluster5, createSentinel as createSentinel5 } from 'redis-5';

import { expectInStep } from '../../test/support/in-step.js';
import { connected } from '../../test/support/open-client.js';
import { MASTER_NAME as name } from '../support/redis-sentinel.js';
import { describeWithCluster, describeWithSentinels } from '../support/require-topology.js';
import { addressesOf } from '../support/topology-clients.js';

const title = 'between a call and its write gives no call the reply of another (redis 5)';

describeWithCluster('connections to a cluster that are reset', (cluster) => {
  it(title, () => {
    const rootNodes = cluster().ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
    return expectInStep(() => connected(createCluster5({ rootNodes })));
  });
});

describeWithSentinels('connections to a master of sentinels that are reset', (sentinels) => {
  it(title, () => {
    const sentinelRootNodes = addressesOf(sentinels().ports);
    return expectInStep(() => connected(createSentinel5({ name, sentinelRootNodes })));
  });
});
