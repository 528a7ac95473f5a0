import { ManualClock } from '../../src/index.js';
import { memoryRow } from './rows/memory-row.js';
import { semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  // Cases that move the clock, on a clock that nothing else moves.
  semaphoreSuite(memoryRow(new ManualClock()), { only: 'time' });
});
