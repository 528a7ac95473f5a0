import { acquireCases } from './cases/acquire-cases.js';
import { adoptCases } from './cases/adopt-cases.js';
import { fencingCases } from './cases/fencing-cases.js';
import { inspectCases } from './cases/inspect-cases.js';
import { limitChangeCases } from './cases/limit-change-cases.js';
import { releaseCases } from './cases/release-cases.js';
import { revokeCases } from './cases/revoke-cases.js';
import { waitingCases } from './cases/waiting-cases.js';
import { ioredisMockRow } from './rows/ioredis-mock-row.js';
import { semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  // Each script once at least: Lua in JavaScript is slow. All cases: npm run verify.
  const groups = [acquireCases, waitingCases, fencingCases, releaseCases];
  semaphoreSuite(ioredisMockRow(), {
    groups: [...groups, inspectCases, limitChangeCases, adoptCases, revokeCases],
  });
});
