import { MIN_NODE_TIMEOUT_MS, nodeTimeout } from './node-link.js';
import { permitsOf } from './batch-size.js';
import type { Quorum } from './quorum.js';
import type { HoldReply, HoldRequest, Terms } from './quorum-node.js';
import type { Answers } from './round.js';
import { repliedIn } from './round.js';
import type { HeldTicket } from './tickets.js';
import { hasAll, Votes } from './votes.js';

/** Part of the ttl in which a node has to answer: several tries must fit into a lease. */
const TIMEOUT_FRACTION = 1 / 12;

interface Member {
  readonly id: string;
  /** As this process knew it before. */
  readonly known: HeldTicket | undefined;
  readonly votes: Votes;
}

/** One call of `extend`. */
export class Extension {
  readonly #quorum: Quorum;
  readonly #terms: Terms;
  readonly #started: number;

  constructor(quorum: Quorum, { key, limit, ttl }: Terms) {
    this.#quorum = quorum;
    this.#terms = { key, limit, ttl };
    this.#started = quorum.clock.monotonic();
  }

  /** One for each ticket: whether a majority has it. Throws when that is not known. */
  async run(tickets: readonly { readonly id: string }[]): Promise<boolean[]> {
    const { held, majorities } = this.#quorum;
    const members = tickets.map(({ id }): Member => {
      return { id, known: held.get(id), votes: new Votes(majorities, permitsOf(id)) };
    });
    const answers = await this.#hold(members, members.map(extending));
    const unknown = ~repliedIn(answers);
    const undecided = members.filter((member) => isUndecided(member, unknown));
    const decided = members.filter((member) => !undecided.includes(member));
    for (const member of decided) {
      if (slotsOf(member) === undefined) held.lose(member.id);
      else this.#confirm(member);
    }
    this.#reconcile(decided, decided.map(extending), answers);
    if (undecided.length > 0) await this.#rescue(undecided, answers);
    return members.map((member) => slotsOf(member) !== undefined);
  }

  #hold(members: readonly Member[], requests: readonly HoldRequest[]): Promise<Answers<HoldReply>> {
    const { ttl } = this.#terms;
    const timeoutMs = Math.min(nodeTimeout(ttl), ttl * TIMEOUT_FRACTION);
    return this.#quorum.hold(
      this.#terms,
      requests,
      members.map(({ votes }) => votes),
      Math.max(MIN_NODE_TIMEOUT_MS, timeoutMs),
      (answers) => !members.some((member) => isUndecided(member, ~repliedIn(answers))),
    );
  }

  #confirm(member: Member): void {
    const { id, known, votes } = member;
    const { held } = this.#quorum;
    if (held.wasReleased(id)) return;
    const attempts = votes.holdings.map((holding) => holding?.attempt ?? 0);
    held.set(id, {
      slots: slotsOf(member) ?? [],
      token: known?.token ?? votes.tokenWith([]) ?? votes.highestToken,
      attempt: known?.attempt ?? Math.max(...attempts),
      label: known?.label ?? '',
      until: this.#started + this.#terms.ttl,
    });
  }

  /** A node that lost its data gets all in one call. */
  #reconcile(
    members: readonly Member[],
    requests: readonly HoldRequest[],
    { replies }: Answers<HoldReply>,
  ): void {
    replies.forEach((reply, node) => {
      const holdings = members.map(({ votes }) => votes.holdings[node]);
      if (reply) this.#quorum.reconcile(node, this.#terms, requests, holdings);
    });
  }

  /**
   * Nodes that lost a ticket are up, nodes that have it are not: it is put back where it is
   * missing. While its last confirmed lease runs, its other nodes still have it, so nobody else can
   * have won its slots meanwhile.
   */
  async #rescue(undecided: readonly Member[], answers: Answers<HoldReply>): Promise<void> {
    const { held } = this.#quorum;
    const failure = this.#quorum.errorFor(answers);
    const requests = undecided.flatMap(({ id }) => held.requestFor(id, 'restore') ?? []);
    if (requests.length < undecided.length) throw failure;
    const again = await this.#hold(undecided, requests);
    for (const member of undecided) {
      if (slotsOf(member) === undefined) throw failure;
      this.#confirm(member);
    }
    this.#reconcile(undecided, requests, again);
  }
}

/** The slots that a majority holds for it, if all that it needs are there. */
function slotsOf({ known, votes }: Member): readonly number[] | undefined {
  if (known === undefined) return votes.wonSlots();
  return hasAll(votes.slots(), known.slots) ? known.slots : undefined;
}

/** Nodes that gave no reply could make the difference. */
function isUndecided(member: Member, unknown: number): boolean {
  return slotsOf(member) === undefined && member.votes.canWin(unknown);
}

function extending({ id, votes: { permits } }: Member): HoldRequest {
  return { id, mode: 'extend', attempt: 0, permits, slots: [], token: 0, label: '' };
}
