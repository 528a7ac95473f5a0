import { startCluster, type TestCluster } from './redis-cluster.js';
import { startSentinels, type TestSentinels } from './redis-sentinel.js';
import { describeStarted, noServer } from '../../test/support/require-server.js';

type Body<T> = (started: () => T) => void;

/** A `describe` with its own cluster; its tests are pending where there is no server program. */
export const describeWithCluster = (title: string, body: Body<TestCluster>): void =>
  describeStarted(title, noServer(), startCluster, body);

/** The same with a master, replicas and sentinels. */
export const describeWithSentinels = (title: string, body: Body<TestSentinels>): void =>
  describeStarted(title, noServer(), startSentinels, body);
