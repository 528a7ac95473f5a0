import { ManualClock } from '../../src/index.js';
import { manualClockCases } from './cases/time-cases.js';
import { memoryRow } from './rows/memory-row.js';
import { allGroups, semaphoreSuite } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  // On a clock that only the cases move, only those that do.
  const groups = [...allGroups, manualClockCases];
  semaphoreSuite(memoryRow(new ManualClock()), { groups, only: 'time' });
});
