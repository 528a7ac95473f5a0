import { describeWithServer } from '../support/require-server.js';
import { serverRows } from './rows/server-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithServer('conformance on a real server', (server) => {
  for (const row of serverRows(server)) if (row.title === 'ioredis 5') semaphoreSuite(row);
});
