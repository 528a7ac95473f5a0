import { describeWithServer } from '../support/require-server.js';
import { acquireCases } from './cases/acquire-cases.js';
import { keyCases } from './cases/key-cases.js';
import { nameCases } from './cases/name-cases.js';
import { operatorCases } from './cases/operator-cases.js';
import { serverCases } from './cases/server-cases.js';
import { waitingCases } from './cases/waiting-cases.js';
import { serverRows } from './rows/server-rows.js';
import { semaphoreSuite } from './semaphore-suite.js';

describeWithServer('conformance on a real server', (server) => {
  // What goes through a client in a separate way; redis.test.ts has all cases, and npm run verify
  // has them on each client.
  const groups = [acquireCases, waitingCases, operatorCases, nameCases, keyCases, serverCases];
  for (const row of serverRows(server)) {
    if (row.title === 'ioredis 5') semaphoreSuite(row, { groups });
  }
});
