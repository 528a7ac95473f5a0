import { describeWithServer } from '../support/require-server.js';
import { ioredisRows } from './rows/ioredis-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithServer('conformance on a real server', (server) => {
  for (const row of ioredisRows(server)) if (row.title === 'ioredis 5') semaphoreSuite(row);
});
