import { RedisBackend } from '../backends/redis/redis-backend.js';
import { ioredisConnection, isIoredis } from '../backends/redis/adapters/ioredis.js';
import { isNodeRedis, nodeRedisConnection } from '../backends/redis/adapters/node-redis.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';
import type { ClientSource } from './keeper-options.js';

/**
 * Connects the client of the keeper's thread, which is never closed: it ends with its thread.
 * `onTrouble`: gets what the client reports, from the first try to connect on.
 */
export async function connectBackend(
  source: ClientSource,
  onTrouble: (error: unknown) => void,
): Promise<RedisBackend> {
  const client = await clientOf(source, onTrouble);
  if (isNodeRedis(client)) return new RedisBackend(nodeRedisConnection(client));
  if (isIoredis(client)) return new RedisBackend(ioredisConnection(client));
  throw typeError(
    `module: expected a default export that is or gives a connected client of redis or ioredis, got ${formatValue(client)}`,
  );
}

async function clientOf(
  { ioredis, redis, module }: ClientSource,
  onTrouble: (error: unknown) => void,
): Promise<object> {
  if (ioredis !== undefined) {
    const { Redis } = await import('ioredis');
    return new Redis(ioredis).on('error', onTrouble);
  }
  if (redis !== undefined) {
    const { createClient } = await import('redis');
    return createClient(redis).on('error', onTrouble).connect();
  }
  const loaded: unknown = await import(String(module));
  const made: unknown = Reflect.get(Object(loaded), 'default');
  const client = await (isMaker(made) ? made() : made);
  return typeof client === 'object' && client !== null ? client : { client };
}

function isMaker(made: unknown): made is () => unknown {
  return typeof made === 'function';
}
