import { startCluster, type TestCluster } from './redis-cluster.js';
import { startSentinels, type TestSentinels } from './redis-sentinel.js';
import { describeStarted, noServer } from '../../test/support/require-server.js';

/** A `describe` with its own cluster; its tests are pending where there is no server program. */
export function describeWithCluster(
  title: string,
  body: (cluster: () => TestCluster) => void,
): void {
  describeStarted(title, noServer(), startCluster, body);
}

/**
 * A `describe` with its own master, replicas and sentinels; pending where there is no server
 * program.
 */
export function describeWithSentinels(
  title: string,
  body: (sentinels: () => TestSentinels) => void,
): void {
  describeStarted(title, noServer(), startSentinels, body);
}
