import type { TestServer } from '../../support/redis-server.js';
import type { Row } from '../row.js';
import { RawConnection } from './raw-connection.js';
import { serverRow } from './server-row.js';

export function portRow(server: () => TestServer): Row {
  return serverRow('a RedisConnection of two methods', server, (url) => {
    const connection = new RawConnection(Number(new URL(url).port));
    return Promise.resolve({ target: connection, close: () => connection.close() });
  });
}
