import { ManualClock } from '../../src/index.js';
import { memoryRow } from './rows/memory-row.js';
import { allGroups, semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  // Cases that move the clock, on a clock that nothing else moves.
  const groups = allGroups.filter(({ needs }) => needs.includes('time'));
  semaphoreSuite(memoryRow(new ManualClock()), { groups });
});
