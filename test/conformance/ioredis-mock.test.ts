import { ioredisMockRow } from './rows/ioredis-mock-row.js';
import { semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(ioredisMockRow());
});
