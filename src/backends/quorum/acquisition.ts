import type { AcquireCall, AcquireVerdict, TicketRequest } from '../backend.js';
import { safetyMargin } from '../protocol.js';
import type { Instant } from '../../time/clock.js';
import { elapsedSince, instant, randomBy } from '../../time/clock.js';
import type { Quorum } from './quorum.js';
import { nodeLimit } from './quorum.js';
import type { Holding, TakeReply } from './quorum-node.js';
import type { Answers } from './round.js';
import { pendingIn, repliedIn, repliesIn } from './round.js';
import type { Votes } from './tally.js';
import { canStillWin, hasAll, sameSlots, shuffle, wonSlots } from './tally.js';
import type { Winner } from './token-agreement.js';
import { agreeOnTokens } from './token-agreement.js';

/** How often what was split between contenders is tried for in one call, and within which part of the ttl. */
const TRIES = 4;
const PART = 1 / 4;

/** Shortest range from which a pause between two tries is drawn, in milliseconds. */
const PAUSE = 2;

type Fate =
  /** A round is under way, or what it won is not yet safe. */
  | 'open'
  | 'won'
  /** No node gave it anything. */
  | 'refused'
  /** Some nodes did, too few. */
  | 'split'
  /** It could not be tried, or what was won came too late. */
  | 'late';

/** One request on its way to a majority. */
interface Candidate {
  readonly request: TicketRequest;
  /** Nobody wants it any more. */
  cancelled: boolean;
  fate: Fate;
  attempt: number;
  /** What each node holds for this attempt. */
  holdings: (Holding | undefined)[];
  slots: readonly number[];
  token: number;
}

/** One call of `acquire`: rounds of asking all nodes, until each request has won, was refused, or must wait. */
export class Acquisition {
  otherLimit: number | undefined;
  readonly #quorum: Quorum;
  readonly #call: AcquireCall;
  readonly #candidates: readonly Candidate[];
  readonly #started: Instant;
  /** Slots that a majority would have given, in random order: what to aim at next. */
  #contested: number[] = [];
  #roundTime = 0;

  constructor(quorum: Quorum, call: AcquireCall) {
    this.#quorum = quorum;
    this.#call = call;
    this.#started = instant(quorum.clock);
    this.#candidates = call.requests.map((request) => ({
      request,
      cancelled: false,
      fate: 'open',
      attempt: 0,
      holdings: [],
      slots: [],
      token: 0,
    }));
  }

  /** A ticket that is released while it is being won must not be held. */
  cancel(id: string): void {
    for (const candidate of this.#candidates) {
      if (candidate.request.id === id) candidate.cancelled = true;
    }
  }

  async run(): Promise<AcquireVerdict[]> {
    let open = this.#candidates;
    for (let tries = 1; open.length > 0; tries += 1) {
      const answers = await this.#try(open);
      const won = this.#candidates.some(({ fate }) => fate === 'won');
      if (!won) this.#quorum.assertMajority(answers);
      open = tries < TRIES ? this.#worthAnotherTry(won) : [];
      if (open.length > 0) await this.#pause(tries);
    }
    return this.#candidates.map((candidate) => this.#verdictOn(candidate));
  }

  async #try(candidates: readonly Candidate[]): Promise<Answers<TakeReply>> {
    const before = this.#quorum.clock.monotonic();
    const answers = await this.#take(candidates);
    this.#roundTime = this.#quorum.clock.monotonic() - before;
    const permits = candidates.reduce((sum, { request }) => sum + request.permits, 0);
    this.#quorum.batches.learn(permits, answers);
    const replies = repliesIn(answers);
    for (const candidate of candidates) {
      candidate.slots = wonSlots(this.#votes(candidate, 0)) ?? [];
    }
    this.otherLimit ??= replies.find((reply) => reply?.otherLimit !== undefined)?.otherLimit;
    const otherSet = this.#quorum.findOtherSet(this.#call.key, answers);
    const sure = otherSet.error === undefined && otherSet.unrecorded !== true;
    const losers = candidates.filter(({ slots }) => !sure || slots.length === 0);
    this.#findContested(losers, replies);
    for (const candidate of losers) {
      const split = candidate.holdings.some((holding) => holding !== undefined);
      this.#giveUp(candidate, split ? 'split' : 'refused', answers);
    }
    if (otherSet.error !== undefined) throw otherSet.error;
    const winners = candidates.filter(({ fate }) => fate === 'open');
    if (winners.length > 0) await this.#secure(winners, answers);
    return answers;
  }

  #take(candidates: readonly Candidate[]): Promise<Answers<TakeReply>> {
    const { key, label } = this.#call;
    const claim = this.#quorum.sets.claimFor(key);
    const first = this.#quorum.wantedToken();
    const requests = candidates.map((candidate, i) => {
      const { id, permits } = candidate.request;
      Object.assign(candidate, { attempt: this.#quorum.nextAttempt(), fate: 'open', holdings: [] });
      const aim = this.#contested.splice(0, permits);
      return { id, attempt: candidate.attempt, permits, token: first + i, aim };
    });
    return this.#quorum.ask<TakeReply>({
      limit: Math.min(nodeLimit(this.#call.ttl), this.#validity()),
      send: (node, notAfter) => node.take({ ...this.#terms, claim, label, notAfter, requests }),
      decided: (answers) => {
        this.#count(candidates, answers);
        return this.#isDecided(candidates, answers);
      },
      onLate: (index, answer) => {
        if (!('reply' in answer)) return;
        answer.reply.holdings.forEach((holding, i) => {
          const [candidate, request] = [candidates[i], requests[i]];
          if (holding === undefined || candidate === undefined || request === undefined) return;
          this.#onLate(index, candidate, request.attempt, holding);
        });
      },
    });
  }

  #count(candidates: readonly Candidate[], answers: Answers<TakeReply>): void {
    repliesIn(answers).forEach((reply, index) => {
      if (reply === undefined) return;
      candidates.forEach((candidate, i) => (candidate.holdings[index] = reply.holdings[i]));
    });
  }

  #isDecided(candidates: readonly Candidate[], answers: Answers<TakeReply>): boolean {
    const { majorities } = this.#quorum;
    const pending = pendingIn(answers);
    // Being refused is an answer of a majority, too.
    const answered = repliedIn(answers);
    const settled = majorities.reachedBy(answered) || !majorities.reachedBy(answered | pending);
    let won = false;
    for (const candidate of candidates) {
      const votes = this.#votes(candidate, pending);
      if (wonSlots(votes) !== undefined) won = true;
      else if (!settled || canStillWin(votes)) return false;
    }
    return this.#quorum.isSetSettled(this.#call.key, answers, won);
  }

  /** Agrees on fencing tokens, and makes sure that what was won is still worth something. */
  async #secure(winners: readonly Candidate[], answers: Answers<TakeReply>): Promise<void> {
    const tickets = winners.map((candidate): Winner => {
      const { request, attempt, slots, holdings } = candidate;
      const onLate = (index: number, holding: Holding): void =>
        this.#onLate(index, candidate, attempt, holding);
      return { id: request.id, attempt, slots, label: this.#call.label, holdings, onLate };
    });
    const timeLeft = (): number => Math.min(nodeLimit(this.#call.ttl), this.#validity());
    const tokens = await agreeOnTokens(this.#quorum, this.#terms, tickets, timeLeft);
    for (const candidate of winners) {
      const token = tokens.get(candidate.request.id);
      // A node may have lost, since, what it had given.
      const slots = wonSlots(this.#votes(candidate, 0)) ?? [];
      const still = token !== undefined && hasAll(slots, candidate.slots);
      if (this.#validity() <= 0 || candidate.cancelled) this.#giveUp(candidate, 'late', answers);
      else if (still) this.#keep(candidate, token);
      else this.#giveUp(candidate, 'split', answers);
    }
    this.#align(winners);
  }

  #keep(candidate: Candidate, token: number): void {
    const { request, attempt, slots } = candidate;
    candidate.fate = 'won';
    candidate.token = token;
    const until = this.#quorum.clock.monotonic() + this.#validity();
    this.#quorum.held.set(request.id, { slots, token, attempt, until, label: this.#call.label });
  }

  /** Puts what was won where nodes gave something else, in one call to each. */
  #align(winners: readonly Candidate[]): void {
    this.#quorum.links.forEach((_, index) => {
      const ids = winners.flatMap(({ fate, request, holdings, token, slots }) => {
        const holding = holdings[index];
        if (fate !== 'won' || holding === undefined) return [];
        return holding.token === token && sameSlots(holding.slots, slots) ? [] : request.id;
      });
      this.#quorum.restore(index, this.#terms, ids);
    });
  }

  /** Undone wherever it was, or may be. */
  #giveUp(candidate: Candidate, fate: Fate, answers: Answers<TakeReply>): void {
    const { request, attempt, holdings } = candidate;
    candidate.fate = fate;
    answers.forEach((answer, index) => {
      const silent = answer === undefined || ('error' in answer && answer.sent);
      if (silent || holdings[index] !== undefined) {
        this.#quorum.undo(index, this.#call.key, request.id, attempt);
      }
    });
  }

  /** A node answered when it was too late to count its vote. */
  #onLate(index: number, candidate: Candidate, attempt: number, holding: Holding): void {
    const { id } = candidate.request;
    const current = candidate.attempt === attempt;
    if (current && candidate.fate === 'open') candidate.holdings[index] = holding;
    else if (!current || candidate.fate !== 'won' || this.#quorum.held.get(id) === undefined) {
      this.#quorum.undo(index, this.#call.key, id, attempt);
    } else if (!sameSlots(holding.slots, candidate.slots)) {
      this.#quorum.restore(index, this.#terms, [id]);
    }
  }

  #findContested(losers: readonly Candidate[], replies: readonly (TakeReply | undefined)[]): void {
    const nodes = new Map<number, number>();
    replies.forEach((reply, index) => {
      const mine = losers.flatMap(({ holdings }) => holdings[index]?.slots ?? []);
      for (const slot of [...(reply?.free ?? []), ...mine]) {
        nodes.set(slot, (nodes.get(slot) ?? 0) | (1 << index));
      }
    });
    const { majorities } = this.#quorum;
    const slots = [...nodes].flatMap(([slot, mask]) => (majorities.reachedBy(mask) ? slot : []));
    this.#contested = shuffle(slots, this.#quorum.clock);
  }

  /** Those who were split. Who has won need not wait for them, unless they cannot wait themselves. */
  #worthAnotherTry(won: boolean): readonly Candidate[] {
    const { ttl, notAfter = Infinity } = this.#call;
    const { clock } = this.#quorum;
    if (elapsedSince(this.#started, clock) > ttl * PART || clock.monotonic() > notAfter) return [];
    return this.#candidates.filter(
      ({ fate, cancelled, request }) => fate === 'split' && !cancelled && !(won && request.wait),
    );
  }

  /** Drawn from a range that grows: contenders who split the nodes must not meet again. */
  #pause(tries: number): Promise<void> {
    const pause = randomBy(this.#quorum.clock) * tries * Math.max(PAUSE, 2 * this.#roundTime);
    return new Promise((resolve) => this.#quorum.clock.schedule(resolve, pause, true));
  }

  #verdictOn({ fate, request, slots, token }: Candidate): AcquireVerdict {
    if (fate === 'won') return { kind: 'granted', fencingToken: token, slots };
    if (request.wait) return { kind: 'queued', arrival: undefined };
    return fate === 'late' ? { kind: 'late' } : { kind: 'busy' };
  }

  #votes({ request, holdings }: Candidate, pending: number): Votes {
    return { permits: request.permits, majorities: this.#quorum.majorities, pending, holdings };
  }

  get #terms() {
    const { key, limit, ttl } = this.#call;
    return { key, limit, ttl };
  }

  /** Milliseconds for which a ticket that was asked for at the beginning is certain, with the margin of `Lease`. */
  #validity(): number {
    const { ttl } = this.#call;
    return ttl - safetyMargin(ttl) - elapsedSince(this.#started, this.#quorum.clock);
  }
}
