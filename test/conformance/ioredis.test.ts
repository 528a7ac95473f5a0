import { describeWithServer } from '../support/require-server.js';
import { serverRows } from './rows/server-rows.js';
import { groupsIn, semaphoreSuite } from './semaphore-suite.js';

// What goes through a client in a separate way; redis.test.ts has all cases, and npm run verify has
// them on each client.
const files = ['acquire', 'waiting', 'operator', 'name', 'key', 'server'];
const groups = await groupsIn(...files.map((file) => `${file}-cases`));

describeWithServer('conformance on a real server', (server) => {
  for (const row of serverRows(server)) {
    if (row.title === 'ioredis 5') semaphoreSuite(row, { groups });
  }
});
