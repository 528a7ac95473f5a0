/** Nodes are the bits of a number here. */
export const MOST_NODES = 30;

interface List {
  readonly members: number;
  readonly needed: number;
}

/**
 * Which nodes together decide: a majority of each list. There is one list, or two while it is being
 * changed: a process that needs a majority of the old one and of the new one agrees with processes
 * that know only one of them.
 */
export class Majorities {
  readonly #lists: readonly List[];

  /** `lists`: the nodes of each, by their places among all. Left out: one list of all. */
  constructor(nodes: number, lists: readonly (readonly number[])[] = [[...Array(nodes).keys()]]) {
    this.#lists = lists.map((places) => ({
      members: places.reduce((mask, place) => mask | (1 << place), 0),
      needed: majorityOf(places.length),
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
}

/** How many of them are a majority. */
function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/** The nodes for which it is true. */
export function nodesWhere<T>(items: readonly T[], test: (item: T) => boolean): number {
  let mask = 0;
  items.forEach((item, place) => {
    if (test(item)) mask |= 1 << place;
  });
  return mask;
}

function countBits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
