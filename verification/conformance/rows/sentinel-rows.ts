import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createSentinel } from 'redis';
import { createSentinel as createSentinel5 } from 'redis-5';

import { MASTER_NAME, type TestSentinels } from '../../../test/support/redis-sentinel.js';
import type { Row } from '../../../test/conformance/row.js';
import { topologyRow } from './topology-row.js';

/** Errors of nodes that come and go are expected: only calls that fail are looked at. */
function ignore(): void {}

export function sentinelRows(sentinels: () => TestSentinels): Row[] {
  const nodeRedis = () => ({ name: MASTER_NAME, sentinelRootNodes: sentinels().addresses });
  const ioredis = () => ({
    sentinels: sentinels().addresses,
    name: MASTER_NAME,
    lazyConnect: true,
  });
  return [
    topologyRow('createSentinel of redis 6', sentinels, async () => {
      const target = createSentinel(nodeRedis()).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    topologyRow('createSentinel of redis 5', sentinels, async () => {
      const target = createSentinel5(nodeRedis()).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    topologyRow('ioredis 5 with sentinels', sentinels, async () => {
      const target = new Redis(ioredis()).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
    topologyRow('ioredis 6 with sentinels', sentinels, async () => {
      const target = new Redis6(ioredis()).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
  ];
}
