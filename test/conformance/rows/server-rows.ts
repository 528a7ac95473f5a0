import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createClient, createClientPool } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import type { RedisConnection } from '../../../src/index.js';
import { connected, type OpenClient } from '../../support/open-client.js';
import type { TestServer } from '../../support/redis-server.js';
import type { Row } from '../row.js';
import { redisRow } from './redis-row.js';

const lazyConnect = true;

/** Every client library and major, on one server. */
export function serverRows(server: () => TestServer): Row[] {
  type Connect = (url: string) => Promise<OpenClient>;
  const row = (title: string, connect: Connect, lacks = {}, prefix = ''): Row =>
    redisRow(title, server, () => connect(server().url), lacks, prefix);
  const before = { keyPrefix: 'app:' };
  const redis6 = (url: string) => connected(createClient({ url, ...before }));
  const ioredis6 = (url: string) =>
    connected(new Redis6(url, { lazyConnect, ...before, stringNumbers: true }));
  return [
    row('redis 4', (url) => connected(createClient4({ url }))),
    row('redis 5', (url) => connected(createClient5({ url }))),
    row('redis 6, RESP 2', (url) => connected(createClient({ url, RESP: 2 }))),
    row('redis 6 with keyPrefix', redis6, {}, before.keyPrefix),
    row('redis 6, RESP 3', (url) => connected(createClient({ url, RESP: 3 }))),
    row('createClientPool of redis 6', (url) => connected(createClientPool({ url })), {
      push: 'a pool cannot subscribe',
    }),
    row('ioredis 5', (url) => connected(new Redis(url, { lazyConnect }))),
    row('ioredis 6', (url) => connected(new Redis6(url, { lazyConnect }))),
    row('ioredis 6 with keyPrefix and stringNumbers', ioredis6, {}, before.keyPrefix),
    row('a RedisConnection of two methods', connectByTwoMethods, {
      push: 'it has no method to subscribe',
    }),
  ];
}

/** The smallest thing that a semaphore can work with. */
async function connectByTwoMethods(url: string): Promise<OpenClient> {
  const client = new Redis(url, { lazyConnect });
  const target: RedisConnection = {
    runBySha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    runByText: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
  };
  return { ...(await connected(client)), target };
}
