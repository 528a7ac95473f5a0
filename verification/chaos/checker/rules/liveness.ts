import type { Violation } from '../../../history/events.js';
import type { RunRecord } from '../run-record.js';

/** Every permit is granted again within its bound after the last fault. */
export function checkLiveness({ header, holds, quiet }: RunRecord): Violation[] {
  if (quiet === undefined) return [];
  const bound = quiet + header.recovery;
  const idle = new Set(Array.from({ length: header.limit }, (_, slot) => slot));
  for (const { granted, slots } of holds) {
    if (granted > quiet && granted <= bound) for (const slot of slots) idle.delete(slot);
  }
  if (idle.size === 0) return [];
  const message = `slots ${[...idle].join(', ')} were not granted within ${header.recovery} ms after the faults`;
  return [{ rule: 'liveness', at: bound, message }];
}
