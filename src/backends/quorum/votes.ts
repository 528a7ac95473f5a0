import type { Holding } from './quorum-node.js';

/** Nodes are the bits of a number here. */
export const MOST_NODES = 30;

/**
 * Which nodes together decide: a majority of each list. There is one list, or two while it is being
 * changed: a process that needs a majority of the old one and of the new one agrees with processes
 * that know only one of them.
 */
export class Majorities {
  /** How many nodes there are. */
  readonly nodes: number;
  readonly #lists: readonly { readonly members: number; readonly needed: number }[];

  /** `lists`: the nodes of each, by their places among all. */
  constructor(lists: readonly (readonly number[])[]) {
    this.nodes = Math.max(...lists.flat()) + 1;
    this.#lists = lists.map((places) => ({
      members: places.reduce((mask, place) => mask | (1 << place), 0),
      needed: Math.floor(places.length / 2) + 1,
    }));
  }

  /** How many it takes of the longest list. */
  get needed(): number {
    return Math.max(...this.#lists.map(({ needed }) => needed));
  }

  reachedBy(nodes: number): boolean {
    return this.#lists.every(({ members, needed }) => countBits(nodes & members) >= needed);
  }

  /** Whether those that are left can still decide without these. */
  possibleWithout(nodes: number): boolean {
    return this.reachedBy(~nodes);
  }

  /** What a majority votes for, or would if the `pending` nodes did. `votes`: of each node. */
  elect<T>(votes: readonly (readonly T[])[], pending = 0): T[] {
    const nodes = new Map<T, number>();
    votes.forEach((values, place) => {
      for (const value of values) nodes.set(value, (nodes.get(value) ?? 0) | (1 << place));
    });
    return [...nodes].flatMap(([value, mask]) => (this.reachedBy(mask | pending) ? [value] : []));
  }
}

/** The nodes for which it is true. */
export function nodesWhere<T>(
  items: readonly T[],
  test: (item: T, node: number) => boolean,
): number {
  return items.reduce<number>((mask, item, i) => (test(item, i) ? mask | (1 << i) : mask), 0);
}

function countBits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** What the nodes hold for one ticket, in their order; undefined: nothing, or no reply. */
export class Votes {
  readonly permits: number;
  readonly holdings: (Holding | undefined)[];
  readonly #majorities: Majorities;

  constructor(majorities: Majorities, permits: number) {
    this.#majorities = majorities;
    this.permits = permits;
    this.holdings = Array.from({ length: majorities.nodes }, () => undefined);
  }

  /** The slots that a majority holds, or would if the `pending` nodes did, in rising order. */
  slots(pending = 0): number[] {
    const votes = this.holdings.map((holding) => holding?.slots ?? []);
    return this.#majorities.elect(votes, pending).toSorted((a, b) => a - b);
  }

  /** As many slots as the ticket needs, each on a majority. */
  wonSlots(): readonly number[] | undefined {
    const slots = this.slots();
    return slots.length >= this.permits ? slots.slice(0, this.permits) : undefined;
  }

  /** Whether the `pending` nodes could make it a majority. */
  canWin(pending: number): boolean {
    return this.#majorities.reachedBy(pending) || this.slots(pending).length >= this.permits;
  }

  /** The token that a majority gave together with all of these slots. */
  tokenWith(slots: readonly number[]): number | undefined {
    return this.#majorities.elect(this.#tokensWith(slots))[0];
  }

  /** Whether a majority can still give the same token, when the `pending` nodes do. */
  canAgree(slots: readonly number[], pending: number): boolean {
    const tokens = this.#tokensWith(slots);
    return (
      this.#majorities.reachedBy(pending) || this.#majorities.elect(tokens, pending).length > 0
    );
  }

  get highestToken(): number {
    return Math.max(0, ...this.holdings.map((holding) => holding?.token ?? 0));
  }

  #tokensWith(slots: readonly number[]): number[][] {
    return this.holdings.map((holding) =>
      holding !== undefined && hasAll(holding.slots, slots) ? [holding.token] : [],
    );
  }
}

export function hasAll(slots: readonly number[], wanted: readonly number[]): boolean {
  if (sameSlots(slots, wanted)) return true;
  const had = new Set(slots);
  return wanted.every((slot) => had.has(slot));
}

export function sameSlots(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((slot, i) => slot === b[i]);
}
