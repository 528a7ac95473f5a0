import type { RedisConnection } from '../connection.js';
import type { Duplicable, IoredisClient } from './ioredis-client.js';
import { isMock, subscribeOnCopy } from './ioredis-client.js';
import { isCluster, subscribeOnNode } from './ioredis-cluster.js';
import { detectsFailover, Revival } from './ioredis-sentinel.js';
import { canWait, replicationOf } from './replication.js';
import { hasMethods, withText } from './shape.js';

export function isIoredis(target: object): target is IoredisClient {
  return hasMethods(target, 'evalsha', 'eval');
}

/**
 * ioredis sends again what was in flight when its connection dropped; that is right here, for scripts
 * are idempotent by ticket id. Its `keyPrefix` goes before keys but not before channels, which is why
 * channels are built from our own prefix alone.
 */
export function ioredisConnection(client: IoredisClient): RedisConnection {
  const revival = detectsFailover(client) ? new Revival(client) : undefined;
  const connection: RedisConnection = {
    // async, for ioredis-mock throws at once where ioredis rejects.
    runBySha: async (sha1, keys, args) =>
      withText(await client.evalsha(sha1, keys.length, ...keys, ...args)),
    runByText: async (script, keys, args) =>
      withText(await client.eval(script, keys.length, ...keys, ...args)),
    isClosed: () => client.status === 'end' && revival?.pending !== true,
    serverClock: isMock(client) ? () => Date.now() : undefined,
  };
  if (isCluster(client)) {
    connection.subscribe = (channel, events) => subscribeOnNode(client, channel, events);
    connection.eachMaster = async () => client.nodes('master').map(ioredisConnection);
  } else if (canSubscribe(client)) {
    connection.subscribe = (channel, events) => subscribeOnCopy(client, channel, events);
  }
  if (!isCluster(client) && !isMock(client) && canWait(client)) {
    connection.replication = replicationOf(client, ['close']);
  }
  return connection;
}

function canSubscribe(client: object): client is Duplicable {
  return hasMethods(client, 'duplicate', 'subscribe');
}
