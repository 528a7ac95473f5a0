import type { SemaphoreSummary } from '../../src/cli/operator.js';

/** What a look at a semaphore may have seen. */
export function summaryOf(
  name: string,
  limit: number | null,
  held: number,
  waiting = 0,
): SemaphoreSummary {
  const holders = Array.from({ length: held }, (_, i) => ({
    id: `${name}.${i}`,
    slots: [i],
    fencingToken: 1000 + i,
    expiresIn: 24_000 + 100 * (held - i),
    heldFor: 1000 + 137 * i,
    label: `holder ${(i * 7) % held}`,
  }));
  const waiters = Array.from({ length: waiting }, (_, position) => ({
    id: `w.${position}`,
    permits: 1 + (position % 3),
    position,
    waitingFor: 12_000 - 400 * position,
    priority: 0,
    group: '',
    weight: 1,
    label: `waiter ${position}`,
  }));
  return { name, limit, held, waiting, holders, waiters };
}
