import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createSentinel } from 'redis';
import { createSentinel as createSentinel5 } from 'redis-5';

import { MASTER_NAME as name, type TestSentinels } from '../../support/redis-sentinel.js';
import { addressesOf } from '../../support/topology-clients.js';
import type { Row } from '../../../test/conformance/row.js';
import { redisRow, SEVERAL_SERVERS } from '../../../test/conformance/rows/redis-row.js';
import { connected, type OpenClient } from '../../../test/support/open-client.js';

export function sentinelRows(sentinels: () => TestSentinels): Row[] {
  const row = (title: string, connect: () => Promise<OpenClient>): Row =>
    redisRow(title, sentinels, connect, { lacks: SEVERAL_SERVERS });
  const nodeRedis = () => ({ name, sentinelRootNodes: addressesOf(sentinels().ports) });
  const ioredis = () => ({ name, sentinels: addressesOf(sentinels().ports), lazyConnect: true });
  return [
    row('createSentinel of redis 6', () => connected(createSentinel(nodeRedis()))),
    row('createSentinel of redis 5', () => connected(createSentinel5(nodeRedis()))),
    row('ioredis 5 with sentinels', () => connected(new Redis(ioredis()))),
    row('ioredis 6 with sentinels', () => connected(new Redis6(ioredis()))),
  ];
}
