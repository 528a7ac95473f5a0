import type { RequestOrder } from '../backend.js';
import { NO_ORDER } from '../request-order.js';
import type { Semaphore } from './semaphore.js';

/** How many permits each group may hold at once. */
export interface Cap {
  readonly permits: number;
  /** In microseconds; undefined: `setGroupLimit` stored it. */
  readonly until: number | undefined;
}

interface Grouped {
  readonly permits: number;
  readonly order?: RequestOrder | undefined;
}

/** Whether the group may hold as many more. */
export function hasRoom({ cap, keys }: Semaphore, { permits, order = NO_ORDER }: Grouped): boolean {
  return cap === undefined || (keys.groups.get(order.group) ?? 0) + permits <= cap.permits;
}

export function countGroup({ cap, keys }: Semaphore, group: string, permits: number): void {
  if (cap === undefined) return;
  const held = (keys.groups.get(group) ?? 0) + permits;
  if (held > 0) keys.groups.set(group, held);
  else keys.groups.delete(group);
}

/** By all tickets. */
export function countGroups(s: Semaphore): void {
  s.keys.groups.clear();
  for (const { group, ranges } of s.keys.tickets.values()) countGroup(s, group, permitsIn(ranges));
}

export function permitsIn(ranges: readonly number[]): number {
  return ranges.reduce((sum, slot, i) => sum + (i % 2 === 0 ? 1 - slot : slot), 0);
}
