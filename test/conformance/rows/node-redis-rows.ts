import { createClient, createClientPool } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import type { TestServer } from '../../support/redis-server.js';
import type { Row } from '../row.js';
import { serverRow } from './server-row.js';

/** Errors of a connection that the tests cut are expected: only calls that fail are looked at. */
function ignore(): void {}

export function nodeRedisRows(server: () => TestServer): Row[] {
  return [
    serverRow('redis 4', server, async (url) => {
      const target = createClient4({ url }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
    serverRow('redis 5', server, async (url) => {
      const target = createClient5({ url }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    serverRow('redis 6, RESP 2', server, async (url) => {
      const target = createClient({ url, RESP: 2 }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    serverRow('redis 6, RESP 3', server, async (url) => {
      const target = createClient({ url, RESP: 3 }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
    serverRow('createClientPool of redis 6', server, async (url) => {
      const target = createClientPool({ url }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.destroy() };
    }),
  ];
}
