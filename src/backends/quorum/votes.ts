import type { Holding } from './quorum-node.js';

/** Nodes are the bits of a number here. */
export const MOST_NODES = 30;

/**
 * The nodes that together decide: a majority of each list. There is one list, or two while the list
 * is being changed: a process that needs a majority of the old list and of the new list agrees with
 * processes that know only one of them.
 */
export class Majorities {
  /** How many nodes there are. */
  readonly nodes: number;
  readonly #lists: readonly { readonly list: readonly number[]; readonly needed: number }[];

  /** `lists`: the indexes of the nodes of each list. */
  constructor(lists: readonly (readonly number[])[]) {
    this.nodes = Math.max(...lists.flat()) + 1;
    this.#lists = lists.map((list) => ({ list, needed: Math.floor(list.length / 2) + 1 }));
  }

  /** The size of a majority of the longest list. */
  get needed(): number {
    return Math.max(...this.#lists.map(({ needed }) => needed));
  }

  reachedBy(nodes: number): boolean {
    return this.#lists.every(
      ({ list, needed }) => list.filter((node) => (nodes >> node) & 1).length >= needed,
    );
  }

  /** Whether the other nodes can decide without these nodes. */
  possibleWithout(nodes: number): boolean {
    return this.reachedBy(~nodes);
  }

  /** The values that a majority votes for, or would vote for together with the `pending` nodes. */
  elect<T>(votes: readonly (readonly T[])[], pending = 0): T[] {
    const nodes = new Map<T, number>();
    votes.forEach((values, node) => {
      for (const value of values) nodes.set(value, (nodes.get(value) ?? 0) | (1 << node));
    });
    return [...nodes].flatMap(([value, mask]) => (this.reachedBy(mask | pending) ? [value] : []));
  }
}

/** The nodes that pass the test, as bits. */
export function nodesWhere<T>(
  items: readonly T[],
  test: (item: T, node: number) => boolean,
): number {
  return items.reduce<number>((mask, item, i) => (test(item, i) ? mask | (1 << i) : mask), 0);
}

/** What each node holds for a ticket; undefined: nothing, or no reply. */
export class Votes<One extends Holding = Holding> {
  readonly permits: number;
  readonly holdings: (One | undefined)[];
  readonly #majorities: Majorities;

  constructor(majorities: Majorities, permits: number) {
    this.#majorities = majorities;
    this.permits = permits;
    this.holdings = Array.from({ length: majorities.nodes }, () => undefined);
  }

  /** The slots that a majority holds, or would hold with the `pending` nodes, in rising order. */
  slots(pending = 0): number[] {
    const votes = this.holdings.map((holding) => holding?.slots ?? []);
    return this.#majorities.elect(votes, pending).toSorted((a, b) => a - b);
  }

  /** The slots that the ticket has won: as many as it needs, each on a majority. */
  wonSlots(): readonly number[] | undefined {
    const slots = this.slots();
    return slots.length >= this.permits ? slots.slice(0, this.permits) : undefined;
  }

  /** Whether the ticket could win with the `pending` nodes. */
  canWin(pending: number): boolean {
    return this.#majorities.reachedBy(pending) || this.slots(pending).length >= this.permits;
  }

  /** The token that a majority gave together with all these slots. */
  tokenWith(slots: readonly number[]): number | undefined {
    return this.#majorities.elect(this.#tokensWith(slots))[0];
  }

  /** Whether a majority could give the same token with the `pending` nodes. */
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
