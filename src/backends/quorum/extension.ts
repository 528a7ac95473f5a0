import type { ExtendCall } from '../backend.js';
import { parseTicketId } from '../ticket-id.js';
import type { HeldTicket } from './held-tickets.js';
import type { Quorum, TicketTerms } from './quorum.js';
import { MIN_NODE_TIMEOUT_MS, nodeTimeout } from './node-timeout.js';
import type { Holding, KeepReply, KeepRequest } from './quorum-node.js';
import { restoreRequest, restoreTickets } from './restore.js';
import type { Answers } from './round.js';
import { repliedIn, repliesIn } from './round.js';
import { canStillWin, hasAll, highestToken, sameSlots, slotsWith, tokenWith } from './tally.js';

/** Part of the ttl in which a node has to answer: several tries must fit into a lease. */
const TIMEOUT_FRACTION = 1 / 12;

interface Member {
  readonly id: string;
  readonly permits: number;
  /** As this process knew it before. */
  readonly known: HeldTicket | undefined;
  readonly holdings: (Holding | undefined)[];
}

/** One call of `extend`. */
export class Extension {
  readonly #quorum: Quorum;
  readonly #terms: TicketTerms;
  readonly #members: readonly Member[];
  readonly #started: number;

  constructor(quorum: Quorum, call: ExtendCall) {
    const { key, limit, ttl, ids } = call;
    this.#quorum = quorum;
    this.#terms = { key, limit, ttl };
    this.#started = quorum.clock.monotonic();
    this.#members = ids.map((id) => ({
      id,
      permits: parseTicketId(id)?.permits ?? 1,
      known: quorum.held.get(id),
      holdings: [],
    }));
  }

  /** One for each id: whether a majority has it. Throws when that is not known. */
  async run(): Promise<boolean[]> {
    const requests = this.#members.map(({ id }) => extending(id));
    const answers = await this.#ask(this.#members, requests);
    const permits = this.#members.reduce((sum, member) => sum + member.permits, 0);
    this.#quorum.batches.learn(permits, answers);
    const undecided = new Set(this.#members.filter((member) => this.#isUndecided(member, answers)));
    const confirmed = this.#members.map((member) => this.#slots(member) !== undefined);
    this.#members.forEach((member, i) => {
      if (confirmed[i] === true) this.#confirm(member);
      else if (!undecided.has(member)) this.#quorum.held.lose(member.id);
    });
    const sure = this.#members.filter((_, i) => confirmed[i] === true);
    this.#restore(sure, answers);
    if (undecided.size > 0) await this.#rescue([...undecided], answers);
    return this.#members.map((member, i) => confirmed[i] === true || undecided.has(member));
  }

  #ask(members: readonly Member[], requests: readonly KeepRequest[]): Promise<Answers<KeepReply>> {
    const update = (index: number, reply: KeepReply): void => {
      members.forEach(({ holdings }, i) => (holdings[index] = reply.holdings[i]));
    };
    const { claim } = this.#quorum.sets;
    return this.#quorum.ask<KeepReply>({
      timeoutMs: Math.max(
        MIN_NODE_TIMEOUT_MS,
        Math.min(nodeTimeout(this.#terms.ttl), this.#terms.ttl * TIMEOUT_FRACTION),
      ),
      send: (node, timing) => node.keep({ ...this.#terms, ...timing, claim, requests }),
      decided: (answers) => {
        repliesIn(answers).forEach((reply, index) => reply !== undefined && update(index, reply));
        return members.every(
          (member) => this.#slots(member) !== undefined || !this.#isUndecided(member, answers),
        );
      },
      onLate: (index, answer) => {
        if (!('reply' in answer)) return;
        const incomplete = members.filter(({ id }, i) => {
          const held = this.#quorum.held.get(id) !== undefined;
          return held && !this.#isWhole(id, answer.reply.holdings[i]);
        });
        restoreTickets(
          this.#quorum,
          index,
          this.#terms,
          incomplete.map(({ id }) => id),
        );
      },
    });
  }

  /** The slots that a majority holds for it, if all that it needs are there. */
  #slots({ known, permits, holdings }: Member): readonly number[] | undefined {
    const slots = slotsWith(this.#quorum.majorities, holdings);
    if (known === undefined) return slots.length >= permits ? slots.slice(0, permits) : undefined;
    return hasAll(slots, known.slots) ? known.slots : undefined;
  }

  #canWin({ permits, holdings }: Member, pending: number): boolean {
    return canStillWin({ permits, majorities: this.#quorum.majorities, pending, holdings });
  }

  /** Nodes that gave no reply could make the difference. */
  #isUndecided(member: Member, answers: Answers<KeepReply>): boolean {
    const unknown = ~repliedIn(answers);
    return this.#slots(member) === undefined && this.#canWin(member, unknown);
  }

  #confirm(member: Member): void {
    const { id, known, holdings } = member;
    const { held } = this.#quorum;
    const slots = this.#slots(member);
    if (slots === undefined || held.wasReleased(id)) return;
    const token =
      known?.token ?? tokenWith(this.#quorum.majorities, holdings) ?? highestToken(holdings);
    const attempts = holdings.map((holding) => holding?.attempt ?? 0);
    const attempt = known?.attempt ?? Math.max(...attempts);
    const label = known?.label ?? '';
    held.set(id, { slots, token, attempt, label, until: this.#started + this.#terms.ttl });
  }

  /** What nodes that answered lack: a node that lost its data gets all in one call. */
  #restore(members: readonly Member[], answers: Answers<KeepReply>): void {
    repliesIn(answers).forEach((reply, index) => {
      if (reply === undefined) return;
      const lacking = members.filter(({ id, holdings }) => !this.#isWhole(id, holdings[index]));
      restoreTickets(
        this.#quorum,
        index,
        this.#terms,
        lacking.map(({ id }) => id),
      );
    });
  }

  #isWhole(id: string, holding: Holding | undefined): boolean {
    const ticket = this.#quorum.held.get(id);
    if (ticket === undefined) return true;
    return holding?.token === ticket.token && sameSlots(holding.slots, ticket.slots);
  }

  /**
   * Nodes that lost a ticket are up, nodes that have it are not: it is put back where it is
   * missing. While its last confirmed lease runs, its other nodes still have it, so nobody else can
   * have won its slots meanwhile.
   */
  async #rescue(undecided: readonly Member[], answers: Answers<KeepReply>): Promise<void> {
    const failure = this.#quorum.errorFor(answers);
    const requests = undecided.map(({ id }) => restoreRequest(this.#quorum, id));
    const wanted = requests.filter((request) => request !== undefined);
    if (wanted.length < requests.length) throw failure;
    const again = await this.#ask(undecided, wanted);
    for (const member of undecided) {
      if (this.#slots(member) === undefined) throw failure;
      this.#confirm(member);
    }
    this.#restore(undecided, again);
  }
}

function extending(id: string): KeepRequest {
  return { id, mode: 'extend', attempt: 0, slots: [], token: 0, label: '' };
}
