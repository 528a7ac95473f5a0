import type { Clock } from '../../time/clock.js';
import { randomBy } from '../../time/clock.js';
import type { Majorities } from './majorities.js';
import type { Holding } from './quorum-node.js';

/**
 * What each node holds for one ticket, in the order of the nodes; undefined: nothing, or no reply.
 */
export type Holdings = readonly (Holding | undefined)[];

/**
 * The slots that a majority holds for one ticket, or could if the `pending` nodes did, in rising
 * order.
 */
export function slotsWith(majorities: Majorities, holdings: Holdings, pending = 0): number[] {
  const slots = holdings.map((holding) => holding?.slots ?? []);
  return slotsOnMajority(majorities, slots, pending).toSorted((a, b) => a - b);
}

/** `slots`: those of each node. */
export function slotsOnMajority(
  majorities: Majorities,
  slots: readonly (readonly number[])[],
  pending = 0,
): number[] {
  const nodes = new Map<number, number>();
  slots.forEach((own, place) => {
    for (const slot of own) nodes.set(slot, (nodes.get(slot) ?? 0) | (1 << place));
  });
  return [...nodes].flatMap(([slot, mask]) => (majorities.reachedBy(mask | pending) ? slot : []));
}

/** The token that a majority gave to one ticket. */
export function tokenWith(majorities: Majorities, holdings: Holdings): number | undefined {
  return [...nodesByToken(holdings)].find(([, nodes]) => majorities.reachedBy(nodes))?.[0];
}

/** Whether a majority can still give it the same token, when the `pending` nodes do. */
export function canAgree(majorities: Majorities, holdings: Holdings, pending: number): boolean {
  if (majorities.reachedBy(pending)) return true;
  return [...nodesByToken(holdings).values()].some((nodes) =>
    majorities.reachedBy(nodes | pending),
  );
}

function nodesByToken(holdings: Holdings): Map<number, number> {
  const nodes = new Map<number, number>();
  holdings.forEach((holding, place) => {
    if (holding === undefined) return;
    nodes.set(holding.token, (nodes.get(holding.token) ?? 0) | (1 << place));
  });
  return nodes;
}

export function highestToken(holdings: Holdings): number {
  return holdings.reduce((highest, holding) => Math.max(highest, holding?.token ?? 0), 0);
}

/** The votes for one ticket, while the `pending` nodes may still give theirs. */
export interface Votes {
  readonly permits: number;
  readonly majorities: Majorities;
  readonly pending: number;
  readonly holdings: Holdings;
}

/** The slots of a ticket that has as many as it needs, each on a majority. */
export function wonSlots({ permits, majorities, holdings }: Votes): readonly number[] | undefined {
  const slots = slotsWith(majorities, holdings);
  return slots.length >= permits ? slots.slice(0, permits) : undefined;
}

/** Whether the nodes that are still silent could make it a majority. */
export function canStillWin({ permits, majorities, pending, holdings }: Votes): boolean {
  return (
    majorities.reachedBy(pending) || slotsWith(majorities, holdings, pending).length >= permits
  );
}

/** Of the nodes that hold all of the slots; nothing of the others. */
export function holdingAll(holdings: Holdings, slots: readonly number[]): Holdings {
  return holdings.map((holding) =>
    holding !== undefined && hasAll(holding.slots, slots) ? holding : undefined,
  );
}

export function hasAll(slots: readonly number[], wanted: readonly number[]): boolean {
  if (sameSlots(slots, wanted)) return true;
  const had = new Set(slots);
  return wanted.every((slot) => had.has(slot));
}

export function sameSlots(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((slot, i) => slot === b[i]);
}

/** In random order: contenders that aim at the same slots would meet again. */
export function shuffle<T>(items: readonly T[], clock: Clock): T[] {
  return items
    .map((item) => ({ item, at: randomBy(clock) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
