import { ioredisMockRow } from './rows/ioredis-mock-row.js';
import { groupsIn, semaphoreSuite } from './semaphore-suite.js';

// Each script once at least: Lua in JavaScript is slow. All cases: npm run verify.
const groups = await groupsIn('operator-cases');

describe('conformance', () => semaphoreSuite(ioredisMockRow(), { groups }));
