import { RedisBackend } from '../backends/redis/redis-backend.js';
import { ioredisConnection, isIoredis } from '../backends/redis/adapters/ioredis.js';
import { isNodeRedis, nodeRedisConnection } from '../backends/redis/adapters/node-redis.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';
import type { ClientSource } from './keeper-options.js';

/** Connects the client of the keeper's thread, which is never closed: it ends with its thread. */
export async function connectBackend(source: ClientSource): Promise<RedisBackend> {
  const client = await clientOf(source);
  if (isNodeRedis(client)) return new RedisBackend(nodeRedisConnection(client));
  if (isIoredis(client)) return new RedisBackend(ioredisConnection(client));
  throw typeError(
    `module: expected a default export that is or gives a connected client of redis or ioredis, got ${formatValue(client)}`,
  );
}

async function clientOf({ ioredis, redis, module }: ClientSource): Promise<object> {
  if (ioredis !== undefined) {
    const { Redis } = await import('ioredis');
    return listened(new Redis(ioredis));
  }
  if (redis !== undefined) {
    const { createClient } = await import('redis');
    const client = listened(createClient(redis));
    await client.connect();
    return client;
  }
  const loaded: unknown = await import(String(module));
  const made: unknown = Reflect.get(Object(loaded), 'default');
  const client = await (isMaker(made) ? made() : made);
  return typeof client === 'object' && client !== null ? client : { client };
}

/** What the client reports is seen by the renewals that fail. Without a listener it would throw. */
function listened<C extends { on(event: 'error', listener: () => void): unknown }>(client: C): C {
  client.on('error', () => undefined);
  return client;
}

function isMaker(made: unknown): made is () => unknown {
  return typeof made === 'function';
}
