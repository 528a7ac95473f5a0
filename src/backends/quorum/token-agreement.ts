import { randomBy } from '../../time/clock.js';
import type { Majorities } from './majorities.js';
import type { Quorum, TicketTerms } from './quorum.js';
import type { Holding, KeepReply, KeepRequest } from './quorum-node.js';
import type { Answers } from './round.js';
import { pendingIn, repliesIn } from './round.js';
import { canAgree, highestToken, tokenWith, holdingAll } from './tally.js';

/** How often a token is proposed until a majority gives the same one. */
const MAX_PROPOSALS = 6;

/**
 * By how much a later proposal may be higher than the first one would be: others count up
 * meanwhile, too.
 */
const MAX_HEADROOM_US = 1000;

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

/** What a majority has given to a ticket. */
export interface Agreement {
  readonly token: number;
  /** The nodes that have yet to answer the proposal of that token: what they hold is not known. */
  readonly unanswered: number;
}

/**
 * Sees to it that a majority has given each of these tickets the same token together with its
 * slots, and gives those tokens; none for one on which there was no agreement in time. A token that
 * a node gave before the slot might be lower than that of another ticket that had the slot in
 * between. Nothing is sent for tickets whose first round said so already.
 */
export async function agreeOnTokens(
  quorum: Quorum,
  terms: TicketTerms,
  winners: readonly Winner[],
  timeLeft: () => number,
): Promise<ReadonlyMap<string, Agreement>> {
  const agreed = new Map<string, Agreement>();
  let open = winners;
  let unanswered = 0;
  for (let proposals = 0; ; proposals += 1) {
    for (const { id, slots, holdings } of open) {
      const token = tokenWith(quorum.majorities, holdingAll(holdings, slots));
      if (token !== undefined) agreed.set(id, { token, unanswered });
    }
    open = open.filter(({ id }) => !agreed.has(id));
    const timeoutMs = timeLeft();
    if (open.length === 0 || proposals === MAX_PROPOSALS || timeoutMs <= 0) return agreed;
    const requests = proposalFor(open, randomBy(quorum.clock) * proposals);
    unanswered = await propose(quorum, terms, open, requests, timeoutMs);
  }
}

/**
 * Tokens that rise with the tickets and are above all that are known: a node gives each of them, or
 * a higher one.
 */
function proposalFor(open: readonly Winner[], headroom: number): KeepRequest[] {
  const highest = Math.max(...open.map(({ holdings }) => highestToken(holdings)));
  const first = highest + 1 + Math.ceil(headroom * MAX_HEADROOM_US);
  return open.map(({ id, attempt, slots, label }, i) => {
    return { id, mode: 'assign', attempt, slots, token: first + i, label };
  });
}

/** Gives the nodes that have yet to answer. */
async function propose(
  quorum: Quorum,
  terms: TicketTerms,
  open: readonly Winner[],
  requests: readonly KeepRequest[],
  timeoutMs: number,
): Promise<number> {
  const update = (answers: Answers<KeepReply>): void =>
    repliesIn(answers).forEach((reply, node) => {
      if (reply === undefined) return;
      open.forEach(({ holdings }, i) => (holdings[node] = reply.holdings[i]));
    });
  const { claim } = quorum.sets;
  const answers = await quorum.ask<KeepReply>({
    timeoutMs,
    send: (node, timing) => node.keep({ ...terms, ...timing, claim, requests }),
    decided: (given) => {
      update(given);
      const pending = pendingIn(given);
      return open.every((winner) => isDecided(winner, quorum.majorities, pending));
    },
    onLate: (node, answer) => {
      if (!('reply' in answer)) return;
      open.forEach((winner, i) => {
        const holding = answer.reply.holdings[i];
        if (holding !== undefined) winner.onLate(node, holding);
      });
    },
  });
  update(answers);
  return pendingIn(answers);
}

/** Agreed, or beyond what the nodes that have yet to answer could still agree on. */
function isDecided({ slots, holdings }: Winner, majorities: Majorities, pending: number): boolean {
  if (tokenWith(majorities, holdingAll(holdings, slots)) !== undefined) return true;
  // Of nodes that have yet to answer only what they are asked for counts.
  const answered = holdings.map((holding, i) => ((pending >> i) & 1 ? undefined : holding));
  return !canAgree(majorities, holdingAll(answered, slots), pending);
}
