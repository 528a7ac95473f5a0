import type { ReleaseCall } from '../backend.js';
import { nodesWhere } from './majorities.js';
import { MAX_NODE_TIMEOUT_MS } from './node-timeout.js';
import type { Quorum } from './quorum.js';
import type { DropReply } from './quorum-node.js';
import type { Answer, Answers } from './round.js';
import { repliesIn } from './round.js';

/**
 * Gives tickets back on all nodes, `held` or perhaps never won; one for each id: whether a majority
 * had it. Nodes that fail are reported again in the background. Throws when it cannot be reported,
 * and then a second try may find nothing.
 */
export async function releaseTickets(
  quorum: Quorum,
  { key, ids }: ReleaseCall,
  held: boolean,
): Promise<boolean[]> {
  const { claim } = quorum.sets;
  const origin = claim && { set: claim.set, held };
  const tickets = ids.map((id) => ({ id, attempt: Infinity }));
  const retryOn = (index: number): void => {
    for (const { id, attempt } of tickets) quorum.rollBack(index, key, id, attempt);
  };
  const answers = await quorum.ask<DropReply>({
    timeoutMs: MAX_NODE_TIMEOUT_MS,
    send: (node, { timeoutMs }) => node.drop({ key, origin, tickets, timeoutMs }),
    decided: (given) => ids.every((_, i) => verdictOn(quorum, given, i) !== undefined),
    onLate: (index, answer) => {
      if ('error' in answer) retryOn(index);
    },
  });
  answers.forEach((answer, index) => {
    if (answer !== undefined && hasFailed(answer)) retryOn(index);
  });
  return ids.map((_, i) => {
    const verdict = verdictOn(quorum, answers, i);
    if (verdict === undefined) throw quorum.errorFor(answers);
    return verdict;
  });
}

function verdictOn(
  { majorities }: Quorum,
  answers: Answers<DropReply>,
  i: number,
): boolean | undefined {
  const given = repliesIn(answers).map((reply) => reply?.dropped[i]);
  if (majorities.reachedBy(nodesWhere(given, (dropped) => dropped === true))) return true;
  const missed = nodesWhere(given, (dropped) => dropped === false);
  return majorities.possibleWithout(missed) ? undefined : false;
}

function hasFailed(answer: Answer<unknown>): boolean {
  return 'error' in answer;
}
