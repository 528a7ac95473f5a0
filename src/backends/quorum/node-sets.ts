import type { DropCall, RecordedSet, SetClaim } from './quorum-node.js';
import { type Majorities, nodesWhere } from './votes.js';

/** The reply of each node; undefined: none. */
type Replies = readonly ({ readonly sets: readonly RecordedSet[] } | undefined)[];

/**
 * Finds out whether other processes use the nodes in another set. Majorities of two lists need not
 * have a node in common: a process with the list [a, b, c] and a process with the list [a, b, d]
 * could hold the same slot. Each node records, for one ttl, the sets of the processes to which it
 * grants tickets, and reports them with every reply:
 *
 * 1. A node refuses a process while a foreign set is in use there.
 * 2. A process continues when a majority reports that a ticket was held in the set of the process.
 *    A process with another set gets no such report for its set, so it must hear all nodes, and
 *    hears of the first process.
 * 3. Without such a report the process waits for all nodes, as long as a call may take. If no node
 *    reports a foreign set, the process begins its own set.
 * 4. A process that hears of a foreign set gives its tickets back, and its record with them.
 */
export class NodeSets {
  /** Undefined if the nodes have no names, so that no sets can be compared. */
  readonly claim: SetClaim | undefined;
  readonly #majorities: Majorities;

  constructor(claim: SetClaim | undefined, majorities: Majorities) {
    this.claim = claim;
    this.#majorities = majorities;
  }

  /** The origin that goes with released tickets. */
  originOf(held: boolean): DropCall['origin'] {
    return this.claim && { set: this.claim.set, held };
  }

  /** Whether a majority reports that a ticket was held in this set; true without a set. */
  isProvenIn(replies: Replies): boolean {
    const own = this.claim?.set;
    const recording = nodesWhere(
      replies,
      (reply) => reply?.sets.some(({ set, proven }) => proven && set === own) === true,
    );
    return own === undefined || this.#majorities.reachedBy(recording);
  }

  /** For each node a foreign set, if the node reports a foreign set. */
  foreignIn(replies: Replies): (string | undefined)[] {
    const own = this.claim?.set;
    return replies.map((reply) => {
      if (own === undefined) return undefined;
      return reply?.sets.find(({ set }) => !haveCommonList(set, own))?.set;
    });
  }
}

/**
 * A set of nodes as the process sends it and a node stores it: the names of the nodes of each list
 * with `,` between them, the lists with `+` between them. All are sorted, so that processes that
 * list the same nodes in another order send the same text.
 */
export function setName(lists: readonly (readonly string[])[]): string {
  return lists
    .map((names) => names.map(encode).toSorted().join(','))
    .toSorted()
    .join('+');
}

/** A set as messages show it. */
export function formatSet(set: string): string {
  return set
    .split('+')
    .map((list) => list.split(',').map(decodeURIComponent).join(', '))
    .join(' and ');
}

/**
 * Whether two sets are compatible: a caller that needs a majority of two lists agrees with a caller
 * that needs a majority of either.
 */
export function haveCommonList(a: string, b: string): boolean {
  const lists = new Set(a.split('+'));
  return b.split('+').some((list) => lists.has(list));
}

/** Without the signs that separate names, here and in the scripts and their replies. */
function encode(name: string): string {
  return name.replace(/[%,+;|=\s]/g, (sign) => encodeURIComponent(sign));
}
