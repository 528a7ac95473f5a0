import type { Settings } from '../settings.js';

/**
 * Shares of a run after which processes learn of both lists of nodes, and of the new list alone.
 */
const STEPS = [1 / 3, 2 / 3];

/** Between the restarts of two processes, in milliseconds. */
const STAGGER = 100;

/** Milliseconds by which clocks of nodes may be off while their list is changed. */
export const CLOCKS_OFF = 30_000;

/** The number of nodes: with a move, a further node is in the new list alone. */
export function nodesIn({ nodes, moved }: Settings): number {
  return moved === true ? nodes + 1 : nodes;
}

/** When this process is restarted, to learn of other lists. */
export function restartsOf({ minutes, moved }: Settings, slot: number): number[] {
  return moved === true ? STEPS.map((share) => share * minutes * 60_000 + slot * STAGGER) : [];
}

/** The numbers of the nodes in each list of a process that starts now. */
export function listsAt(now: number, settings: Settings): number[][] {
  const all = Array.from({ length: nodesIn(settings) }, (_, node) => node);
  if (settings.moved !== true) return [all];
  const [both = 0, after = 0] = restartsOf(settings, 0);
  const [older, newer] = [all.slice(0, -1), all.slice(1)];
  return [...(now < after ? [older] : []), ...(now >= both ? [newer] : [])];
}
