import { isBefore, type Waiting } from './order.js';
import type { Semaphore } from './semaphore.js';

/**
 * Behind how many requests, as if all groups had the same weight. Without priorities and groups
 * that is exact.
 */
export function positionOf({ keys, waiting }: Semaphore, { arrival, flow }: Waiting): number {
  if (flow === undefined) return waiting - 1;
  const turns = flow.waiting.items.filter((other) => other.arrival < arrival).length;
  const rivals = keys.heads.items.filter(({ priority }) => priority === flow.priority);
  const higher = keys.heads.items.filter(({ priority }) => priority > flow.priority);
  const before = higher.length + rivals.filter((other) => isBefore(other, flow)).length;
  // Groups at the cap have no head: a group alone takes turns with itself.
  return Math.min(waiting - 1, before + turns * Math.max(rivals.length, 1));
}
