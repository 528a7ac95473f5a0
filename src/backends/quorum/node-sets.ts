import type { DropCall, RecordedSet, SetClaim } from './quorum-node.js';
import { type Majorities, nodesWhere } from './votes.js';

/** What each node replied; undefined: nothing. */
type Replies = readonly ({ readonly sets: readonly RecordedSet[] } | undefined)[];

/**
 * Whether others use the nodes of this process in another set. Majorities of two lists need not
 * have a node in common: a process that lists [a, b, c] and one that lists [a, b, d] could hold one
 * slot at a time. Each node records, for one ttl, the sets of the processes that it grants to, and
 * reports them with every reply:
 *
 * 1. A node refuses a process while a foreign set is in use there.
 * 2. A process that finds, on a majority, that a ticket was held in its own set continues. A
 *    process with another set does not find that for its own, so it has to hear all nodes, and
 *    hears of this process.
 * 3. Else all nodes are waited for, as long as a call may take. A process that then hears of no
 *    foreign set begins its own.
 * 4. A process that hears of a foreign set gives back what it won, and its record with it.
 */
export class NodeSets {
  /** Undefined where nodes have no names, and nothing can be compared. */
  readonly claim: SetClaim | undefined;
  readonly #majorities: Majorities;

  constructor(claim: SetClaim | undefined, majorities: Majorities) {
    this.claim = claim;
    this.#majorities = majorities;
  }

  /** What goes with tickets that are given back. */
  originOf(held: boolean): DropCall['origin'] {
    return this.claim && { set: this.claim.set, held };
  }

  /** On a majority, by a process that has held a ticket; or there is nothing to compare. */
  isProvenIn(replies: Replies): boolean {
    const own = this.claim?.set;
    const recording = nodesWhere(
      replies,
      (reply) => reply?.sets.some(({ set, proven }) => proven && set === own) === true,
    );
    return own === undefined || this.#majorities.reachedBy(recording);
  }

  /** A foreign set of each node that has one. */
  foreignIn(replies: Replies): (string | undefined)[] {
    const own = this.claim?.set;
    return replies.map((reply) => {
      if (own === undefined) return undefined;
      return reply?.sets.find(({ set }) => !haveCommonList(set, own))?.set;
    });
  }
}

/**
 * A set of nodes as it is sent and stored: the names of the nodes of each list with `,` between
 * them, the lists with `+` between them, all in order, so that every process that lists the same
 * nodes in whatever order says the same.
 */
export function setName(lists: readonly (readonly string[])[]): string {
  return lists
    .map((names) => names.map(encode).toSorted().join(','))
    .toSorted()
    .join('+');
}

/** As messages show it. */
export function formatSet(set: string): string {
  return set
    .split('+')
    .map((list) => list.split(',').map(decodeURIComponent).join(', '))
    .join(' and ');
}

/**
 * Then a caller that needs a majority of both lists of one set agrees with callers that need a
 * majority of one of them.
 */
export function haveCommonList(a: string, b: string): boolean {
  const lists = new Set(a.split('+'));
  return b.split('+').some((list) => lists.has(list));
}

/** Without what separates, here and in the scripts and their replies. */
function encode(name: string): string {
  return name.replace(/[%,+;|=\s]/g, (sign) => encodeURIComponent(sign));
}
