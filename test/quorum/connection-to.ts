import { ioredisConnection, isIoredis } from '../../src/redis/adapters/ioredis.js';
import { isNodeRedis, nodeRedisConnection } from '../../src/redis/adapters/node-redis.js';
import type { RedisConnection } from '../../src/redis/connection.js';

/** The connection that a client of either library is reached by. */
export function connectionTo(target: object): RedisConnection {
  if (isNodeRedis(target)) return nodeRedisConnection(target);
  if (isIoredis(target)) return ioredisConnection(target);
  throw new TypeError('expected a client of redis or ioredis');
}
