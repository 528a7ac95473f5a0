import { type Answers, nodeTimeout, permitsOf, repliedIn } from './asking.js';
import type { Quorum } from './quorum.js';
import type { HoldReply, HoldRequest, Subject } from './quorum-node.js';
import type { HeldTicket } from './tickets.js';
import { hasAll, Votes } from './votes.js';

/** How many calls without an answer fit into the ttl: several tries must fit into a lease. */
const CALLS_IN_TTL = 12;

interface Member {
  readonly id: string;
  /** The ticket as this process knew it before. */
  readonly known: HeldTicket | undefined;
  votes: Votes;
}

/**
 * Extends tickets. Gives for each ticket whether a majority has it; throws when that is not known.
 *
 * If nodes that lost a ticket answer, and nodes that have it do not, the ticket is restored on the
 * nodes that lost it. While its last confirmed lease runs, the other nodes still have the ticket,
 * so no other ticket can have won its slots meanwhile.
 */
export async function extendTickets(
  quorum: Quorum,
  subject: Subject,
  tickets: readonly { readonly id: string }[],
): Promise<boolean[]> {
  const { clock, held, majorities } = quorum;
  const until = clock.monotonic() + subject.ttl;
  const timeoutMs = nodeTimeout(subject.ttl, CALLS_IN_TTL);
  const hold = (members: readonly Member[], requests: readonly HoldRequest[]) => {
    const isDecided = (answers: Answers<HoldReply>): boolean =>
      !members.some((member) => isUndecided(member, answers));
    return quorum.hold(subject, requests, members, timeoutMs, isDecided);
  };
  const members = tickets.map(({ id }): Member => {
    return { id, known: held.get(id), votes: new Votes(majorities, permitsOf(id)) };
  });
  const answers = await hold(members, members.map(extending));
  const undecided = members.filter((member) => isUndecided(member, answers));
  const missing = undecided.filter(({ id }) => held.get(id) !== undefined);
  const requests = missing.flatMap(({ id }) => held.requestFor(id) ?? []);
  if (requests.length > 0) await hold(missing, requests);
  const kept = members.filter((member) => slotsOf(member) !== undefined);
  for (const member of members) {
    if (kept.includes(member)) confirm(quorum, member, until);
    else if (!undecided.includes(member)) held.lose(member.id);
  }
  // A node that lost its data gets all tickets in one call.
  answers.replies.forEach((reply, node) => {
    const holdings = kept.map(({ votes }) => votes.holdings[node]);
    if (reply) quorum.reconcile(node, subject, kept.map(extending), holdings);
  });
  if (undecided.some((member) => !kept.includes(member))) throw quorum.errorFor(answers);
  return members.map((member) => kept.includes(member));
}

function confirm({ held }: Quorum, member: Member, until: number): void {
  const { id, known, votes } = member;
  if (held.wasReleased(id)) return;
  held.set(id, {
    slots: slotsOf(member) ?? [],
    token: known?.token ?? votes.tokenWith([]) ?? votes.highestToken,
    attempt: known?.attempt ?? Math.max(...votes.holdings.map((holding) => holding?.attempt ?? 0)),
    label: known?.label ?? '',
    until,
  });
}

/** The slots of the ticket, if a majority holds all of them. */
function slotsOf({ known, votes }: Member): readonly number[] | undefined {
  if (known === undefined) return votes.wonSlots();
  return hasAll(votes.slots(), known.slots) ? known.slots : undefined;
}

/** Whether the nodes without a reply could decide that the ticket is held. */
function isUndecided(member: Member, answers: Answers<HoldReply>): boolean {
  return slotsOf(member) === undefined && member.votes.canWin(~repliedIn(answers));
}

function extending({ id, votes: { permits } }: Member): HoldRequest {
  return { id, mode: 'extend', attempt: 0, permits, slots: [], token: 0, label: '' };
}
