import type { RedisConnection } from '../connection.js';
import type { Duplicable, IoredisClient } from './ioredis-client.js';
import { COPY_OPTIONS, scriptsOf, subscribeOnCopies } from './ioredis-client.js';
import { isCluster, subscribeOnNode } from './ioredis-cluster.js';
import { isMock, mockConnection } from './ioredis-mock.js';
import { detectsFailover, Revival } from './ioredis-sentinel.js';
import { canWait, replicationOf } from './replication.js';
import { hasMethods } from './shape.js';

export function isIoredis(target: object): target is IoredisClient {
  // Without events it speaks HTTP, as that of @upstash/redis does.
  return hasMethods(target, 'evalsha', 'eval', 'on');
}

/**
 * ioredis sends again what was in flight when its connection dropped; that is right here, for
 * scripts are idempotent by ticket id. Its `keyPrefix` goes before keys but not before channels,
 * which is why channels are built from our own prefix alone.
 */
export function ioredisConnection(client: IoredisClient): RedisConnection {
  if (isMock(client)) return mockConnection(client);
  const led = detectsFailover(client) ? client : undefined;
  const revival = led && new Revival(led);
  const connection: RedisConnection = {
    ...scriptsOf(client),
    isClosed: () => client.status === 'end' && revival?.pending !== true,
  };
  if (isCluster(client)) {
    connection.subscribe = (channel, events) => subscribeOnNode(client, channel, events);
    connection.eachMaster = () => Promise.resolve(client.nodes('master').map(ioredisConnection));
    return connection;
  }
  if (canSubscribe(client)) {
    const copy = () => client.duplicate(COPY_OPTIONS);
    connection.subscribe = (...wanted) => subscribeOnCopies(copy, ...wanted, led);
  }
  if (canWait(client)) connection.replication = replicationOf(client, ['close']);
  return connection;
}

function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}
