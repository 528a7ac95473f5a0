import { describeWithServer } from '../support/require-server.js';
import { nodeRedisRows } from './rows/node-redis-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithServer('conformance on a real server', (server) => {
  for (const row of nodeRedisRows(server)) if (row.title === 'redis 6, RESP 3') semaphoreSuite(row);
});
