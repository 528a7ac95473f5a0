import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';

import type { TestServer } from '../../support/redis-server.js';
import type { Row } from '../row.js';
import { serverRow } from './server-row.js';

/** Errors of a connection that the tests cut are expected: only calls that fail are looked at. */
function ignore(): void {}

export function ioredisRows(server: () => TestServer): Row[] {
  const keyPrefix = 'app:';
  return [
    serverRow('ioredis 5', server, async (url) => {
      const target = new Redis(url, { lazyConnect: true }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
    serverRow('ioredis 6', server, async (url) => {
      const target = new Redis6(url, { lazyConnect: true }).on('error', ignore);
      await target.connect();
      return { target, close: () => target.disconnect() };
    }),
    serverRow(
      'ioredis 6 with keyPrefix and stringNumbers',
      server,
      async (url) => {
        const options = { lazyConnect: true, keyPrefix, stringNumbers: true };
        const target = new Redis6(url, options).on('error', ignore);
        await target.connect();
        return { target, close: () => target.disconnect() };
      },
      keyPrefix,
    ),
  ];
}
