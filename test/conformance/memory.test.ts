import { ManualClock } from '../../src/index.js';
import { memoryRow } from './rows/memory-row.js';
import { semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  // On a clock that only the cases move, only those that do.
  semaphoreSuite(memoryRow(new ManualClock()), { only: 'time' });
});
