import type { Clock } from '../clock.js';
import { randomBy } from '../clock.js';
import type { Holding } from './quorum-node.js';

/** How many of so many nodes are a majority. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** The slots that at least `votes` of the nodes hold for one ticket, in rising order. */
export function slotsWith(votes: number, holdings: readonly (Holding | undefined)[]): number[] {
  const count = new Map<number, number>();
  for (const holding of holdings) {
    for (const slot of holding?.slots ?? []) count.set(slot, (count.get(slot) ?? 0) + 1);
  }
  return [...count].flatMap(([slot, n]) => (n >= votes ? slot : [])).toSorted((a, b) => a - b);
}

/** The token that at least `votes` of the nodes gave to one ticket. */
export function tokenWith(
  votes: number,
  holdings: readonly (Holding | undefined)[],
): number | undefined {
  return [...countTokens(holdings)].find(([, n]) => n >= votes)?.[0];
}

/** How many nodes, at most, gave a ticket the same token. */
export function tokenVotes(holdings: readonly (Holding | undefined)[]): number {
  return Math.max(0, ...countTokens(holdings).values());
}

function countTokens(holdings: readonly (Holding | undefined)[]): Map<number, number> {
  const count = new Map<number, number>();
  for (const holding of holdings) {
    if (holding !== undefined) count.set(holding.token, (count.get(holding.token) ?? 0) + 1);
  }
  return count;
}

export function highestToken(holdings: readonly (Holding | undefined)[]): number {
  return holdings.reduce((highest, holding) => Math.max(highest, holding?.token ?? 0), 0);
}

/** The votes for one ticket, while `pending` nodes may still give theirs. */
export interface Votes {
  readonly permits: number;
  readonly majority: number;
  readonly pending: number;
  /** Of the nodes that replied. */
  readonly holdings: readonly (Holding | undefined)[];
}

/** The slots of a ticket that has as many as it needs, each on a majority. */
export function wonSlots({ permits, majority, holdings }: Votes): readonly number[] | undefined {
  const slots = slotsWith(majority, holdings);
  return slots.length >= permits ? slots.slice(0, permits) : undefined;
}

/** Whether the nodes that are still silent could make it a majority. */
export function canStillWin({ permits, majority, pending, holdings }: Votes): boolean {
  return pending >= majority || slotsWith(majority - pending, holdings).length >= permits;
}

export function sameSlots(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((slot, i) => slot === b[i]);
}

/** In random order: contenders who aim at the same slots would meet again. */
export function shuffle<T>(items: readonly T[], clock: Clock): T[] {
  return items
    .map((item) => ({ item, at: randomBy(clock) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
