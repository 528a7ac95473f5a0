import type { QueueProgress } from '../backend.js';
import { isBefore, type Waiting } from './order.js';
import type { Semaphore } from './semaphore.js';

/** How fast grants come, while a waiting request wants to know. */
export interface Pace {
  /** When the queue was last served, and the mean time between grants. */
  readonly last: number;
  readonly mean: number;
  /** How many grants the mean is from. */
  readonly grants: number;
}

/** From how many grants the mean is, at most. */
const MOST_GRANTS = 32;

/** Notes the grants of the call. A pace that begins with it has no time between grants yet. */
export function settlePace(s: Semaphore): void {
  const { pace, served, time } = s;
  if (s.waiting === 0) s.pace = undefined;
  if (pace === undefined || s.waiting === 0 || served === 0) return;
  if (pace.last === time && pace.grants === 0) return;
  const between = Math.max(0, time - pace.last) / served;
  const grants = Math.min(pace.grants + served, MOST_GRANTS);
  const mean = pace.mean + (between - pace.mean) * Math.min(served / grants, 1);
  s.pace = { last: time, mean: Math.floor(mean), grants };
}

/**
 * Behind how many requests, as if all groups had the same weight. Without priorities and groups
 * that is exact.
 */
function positionOf({ keys, waiting }: Semaphore, { arrival, flow }: Waiting): number {
  if (flow === undefined) return waiting - 1;
  const turns = flow.waiting.items.filter((other) => other.arrival < arrival).length;
  const rivals = keys.heads.items.filter(({ priority }) => priority === flow.priority);
  const higher = keys.heads.items.filter(({ priority }) => priority > flow.priority);
  const before = higher.length + rivals.filter((other) => isBefore(other, flow)).length;
  // Groups at the cap have no head: a group alone takes turns with itself.
  return Math.min(waiting - 1, before + turns * Math.max(rivals.length, 1));
}

/** A waiting request's progress, as its verdict has it. */
export function progressOf(s: Semaphore, r: Waiting): QueueProgress {
  s.pace ??= { last: s.time, mean: 0, grants: 0 };
  const position = positionOf(s, r);
  const { mean, grants } = s.pace;
  const estimate = grants > 0 ? ((position + 1) * mean) / 1000 : undefined;
  return { position, waiting: s.waiting, estimate };
}
