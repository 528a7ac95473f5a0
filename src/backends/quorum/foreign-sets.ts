import type { RecordedSet, SetClaim } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** The reply of each node; undefined: none. */
export type Replies = readonly ({ readonly sets: readonly RecordedSet[] } | undefined)[];

/**
 * For each node a foreign set, if the node reports one: other processes use the nodes in that set.
 * Majorities of two lists need not have a node in common: a process with the list [a, b, c] and a
 * process with the list [a, b, d] could hold the same slot. Each node records, for one ttl, the
 * sets of the processes to which it grants tickets, and reports them with every reply:
 *
 * 1. A node refuses a process while a foreign set is in use there.
 * 2. A process continues when a majority reports that a ticket was held in the set of the process.
 *    A process with another set gets no such report for its set, so it must hear all nodes, and
 *    hears of the first process.
 * 3. Without such a report the process waits for all nodes, as long as a call may take. If no node
 *    reports a foreign set, the process begins its own set.
 * 4. A process that hears of a foreign set gives its tickets back, and its record with them.
 */
export function foreignIn(
  replies: Replies,
  claim: SetClaim | undefined,
): readonly (string | undefined)[] {
  if (claim === undefined) return [];
  return replies.map(
    (reply) => reply?.sets.find(({ set }) => !haveCommonList(set, claim.set))?.set,
  );
}

/** The nodes that report that a ticket was held in the set of the claim. */
export function provenIn(replies: Replies, claim: SetClaim): number {
  return nodesWhere(
    replies,
    (reply) => reply?.sets.some(({ set, proven }) => proven && set === claim.set) === true,
  );
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
