import type { SemaphoreKey } from '../backend.js';
import { MAX_NODE_TIMEOUT_MS } from './node-link.js';
import type { Quorum } from './quorum.js';
import type { DropReply, DropRequest } from './quorum-node.js';
import type { Answers } from './round.js';
import { nodesWhere } from './votes.js';

/**
 * Gives tickets back on all nodes, `held` or perhaps never won; one for each: whether a majority
 * had it. Nodes that fail are reported again in the background. Throws when it cannot be reported,
 * and then a second try may find nothing.
 */
export async function releaseTickets(
  quorum: Quorum,
  key: SemaphoreKey,
  tickets: readonly DropRequest[],
  held: boolean,
): Promise<boolean[]> {
  const { majorities } = quorum;
  const origin = quorum.sets.originOf(held);
  const retryOn = (node: number): void => {
    for (const { id, attempt } of tickets) quorum.rollBack(node, key, id, attempt);
  };
  const verdictOn = ({ replies }: Answers<DropReply>, i: number): boolean | undefined => {
    const having = nodesWhere(replies, (reply) => reply?.dropped[i] === true);
    const lacking = nodesWhere(replies, (reply) => reply?.dropped[i] === false);
    if (majorities.reachedBy(having)) return true;
    return majorities.possibleWithout(lacking) ? undefined : false;
  };
  const answers = await quorum.ask<DropReply>({
    timeoutMs: MAX_NODE_TIMEOUT_MS,
    send: (node, { timeoutMs }) => node.drop({ key, origin, tickets, timeoutMs }),
    isDecided: (given) => tickets.every((_, i) => verdictOn(given, i) !== undefined),
    onLate: (node, reply) => {
      if (reply === undefined) retryOn(node);
    },
  });
  answers.errors.forEach((error, node) => {
    if (error !== undefined) retryOn(node);
  });
  return tickets.map((_, i) => {
    const verdict = verdictOn(answers, i);
    if (verdict === undefined) throw quorum.errorFor(answers);
    return verdict;
  });
}
