import { randomBy } from '../../time/clock.js';
import type { Majorities } from './majorities.js';
import type { Quorum, Terms } from './quorum.js';
import type { Holding, KeepReply, KeepRequest } from './quorum-node.js';
import { pendingIn, repliesIn } from './round.js';
import { canAgree, highestToken, tokenWith, whole } from './tally.js';

/** How often a token is proposed until a majority gives the same one. */
const PROPOSALS = 6;

/** Microseconds by which a later proposal is higher than any that is known: others count up meanwhile, too. */
const HEADROOM = 1000;

/** A ticket that has won its slots. */
export interface Winner {
  readonly id: string;
  readonly attempt: number;
  readonly slots: readonly number[];
  readonly label: string;
  /** What each node holds for it; brought up to date. */
  readonly holdings: (Holding | undefined)[];
  /** A node answered when it was too late to count its vote. */
  onLate(index: number, holding: Holding): void;
}

/**
 * Sees to it that a majority has given each of these tickets the same token together with its slots, and gives those
 * tokens; none for one on which there was no agreement in time. A token that a node gave before the slot might be lower than
 * that of another who had the slot in between. Nothing is sent for tickets whose first round said so already.
 */
export async function agreeOnTokens(
  quorum: Quorum,
  terms: Terms,
  winners: readonly Winner[],
  timeLeft: () => number,
): Promise<ReadonlyMap<string, number>> {
  const agreed = new Map<string, number>();
  for (let proposals = 0; ; proposals += 1) {
    for (const { id, slots, holdings } of winners) {
      const token = tokenWith(quorum.majorities, whole(holdings, slots));
      if (token !== undefined) agreed.set(id, token);
    }
    const open = winners.filter(({ id }) => !agreed.has(id));
    const limit = timeLeft();
    if (open.length === 0 || proposals === PROPOSALS || limit <= 0) return agreed;
    await propose(quorum, terms, open, proposals, limit);
  }
}

async function propose(
  quorum: Quorum,
  terms: Terms,
  open: readonly Winner[],
  proposals: number,
  limit: number,
): Promise<void> {
  const headroom = proposals === 0 ? 0 : Math.ceil(randomBy(quorum.clock) * HEADROOM * proposals);
  const requests = open.map(({ id, attempt, slots, holdings, label }): KeepRequest => ({
    id,
    mode: 'assign',
    attempt,
    slots,
    token: highestToken(holdings) + headroom,
    label,
  }));
  const update = (index: number, reply: KeepReply): void => {
    open.forEach(({ holdings }, i) => (holdings[index] = reply.holdings[i]));
  };
  const claim = quorum.sets.claimFor(terms.key);
  const answers = await quorum.ask<KeepReply>({
    limit,
    send: (node, notAfter) => node.keep({ ...terms, claim, notAfter, requests }),
    decided: (given) => {
      repliesIn(given).forEach((reply, index) => reply !== undefined && update(index, reply));
      const pending = pendingIn(given);
      return open.every((winner) => isDecided(winner, quorum.majorities, pending));
    },
    onLate: (index, answer) => {
      if (!('reply' in answer)) return;
      open.forEach((winner, i) => {
        const holding = answer.reply.holdings[i];
        if (holding !== undefined) winner.onLate(index, holding);
      });
    },
  });
  repliesIn(answers).forEach((reply, index) => reply !== undefined && update(index, reply));
}

/** Agreed, or no longer to be agreed on by those who have yet to answer. */
function isDecided({ slots, holdings }: Winner, majorities: Majorities, pending: number): boolean {
  if (tokenWith(majorities, whole(holdings, slots)) !== undefined) return true;
  // Of those who have yet to answer only what they are asked for counts.
  const answered = holdings.map((holding, i) => ((pending >> i) & 1 ? undefined : holding));
  return !canAgree(majorities, whole(answered, slots), pending);
}
