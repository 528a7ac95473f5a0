import { manualClockCases } from './cases/manual-clock-cases.js';
import { manualClockRow, memoryRow } from './rows/memory-row.js';
import { allGroups, semaphoreSuite, timeCases } from './semaphore-suite.js';

describe('conformance', () => {
  semaphoreSuite(memoryRow());
  semaphoreSuite(manualClockRow(), { groups: [...timeCases(allGroups), manualClockCases] });
});
