import { operatorCases } from './cases/operator-cases.js';
import { ioredisMockRow } from './rows/ioredis-mock-row.js';
import { semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  // Each script once at least: Lua in JavaScript is slow. All cases: npm run verify.
  semaphoreSuite(ioredisMockRow(), { groups: [operatorCases] });
});
