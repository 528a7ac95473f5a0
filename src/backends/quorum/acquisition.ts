import type { AcquireCall, AcquireVerdict } from '../backend.js';
import type { Instant } from '../../time/clock.js';
import { elapsedSince, instant, randomBy } from '../../time/clock.js';
import { validityLeft } from '../../time/server-clock.js';
import type { Candidate, Progress } from './candidate.js';
import { newCandidate, verdictOn } from './candidate.js';
import type { Quorum } from './quorum.js';
import { nodeTimeout } from './node-timeout.js';
import type { Holding, TakeReply } from './quorum-node.js';
import { restoreTickets } from './restore.js';
import type { Answers } from './round.js';
import { pendingIn, repliedIn, repliesIn } from './round.js';
import type { Votes } from './tally.js';
import { canStillWin, hasAll, sameSlots, shuffle, slotsOnMajority, wonSlots } from './tally.js';
import type { Agreement, Winner } from './token-agreement.js';
import { agreeOnTokens } from './token-agreement.js';

/**
 * How often one call tries for what contenders have split between them, and within which part of
 * the ttl.
 */
const MAX_TRIES = 4;
const RETRY_BUDGET_FRACTION = 1 / 4;

/** Shortest range from which a pause between two tries is drawn. */
const MIN_RETRY_PAUSE_MS = 2;

/**
 * One call of `acquire`: rounds of asking all nodes, until each request has won, was refused, or
 * must wait.
 */
export class Acquisition {
  otherLimit: number | undefined;
  readonly #quorum: Quorum;
  readonly #call: AcquireCall;
  readonly #candidates: readonly Candidate[];
  readonly #started: Instant;
  /** Slots that a majority would have given, in random order: the next aim. */
  #contested: number[] = [];
  #roundTime = 0;

  constructor(quorum: Quorum, call: AcquireCall) {
    this.#quorum = quorum;
    this.#call = call;
    this.#started = instant(quorum.clock);
    this.#candidates = call.requests.map(newCandidate);
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
      const won = this.#candidates.some(({ progress }) => progress === 'won');
      if (!won) this.#quorum.assertMajority(answers);
      open = tries < MAX_TRIES ? this.#worthAnotherTry(won) : [];
      if (open.length > 0) await this.#pause(tries);
    }
    return this.#candidates.map((candidate) => verdictOn(candidate));
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
    const losers = candidates.filter(({ slots }) => otherSet !== undefined || slots.length === 0);
    this.#contested = shuffle(this.#freeOnMajority(losers, replies), this.#quorum.clock);
    for (const candidate of losers) {
      const split = candidate.holdings.some((holding) => holding !== undefined);
      this.#giveUp(candidate, split ? 'split' : 'refused', answers);
    }
    if (otherSet !== undefined) throw otherSet;
    const winners = candidates.filter(({ progress }) => progress === 'open');
    if (winners.length > 0) await this.#secure(winners, answers);
    return answers;
  }

  #take(candidates: readonly Candidate[]): Promise<Answers<TakeReply>> {
    const { label } = this.#call;
    const { claim } = this.#quorum.sets;
    const first = this.#quorum.wantedToken();
    const requests = candidates.map((candidate, i) => {
      const { id, permits } = candidate.request;
      Object.assign(candidate, {
        attempt: this.#quorum.nextAttempt(),
        progress: 'open',
        holdings: [],
      });
      const aim = this.#contested.splice(0, permits);
      return { id, attempt: candidate.attempt, permits, token: first + i, aim };
    });
    return this.#quorum.ask<TakeReply>({
      timeoutMs: Math.min(nodeTimeout(this.#call.ttl), this.#validity()),
      send: (node, timing) => node.take({ ...this.#terms, ...timing, claim, label, requests }),
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
    return this.#quorum.isSetSettled(answers, won);
  }

  /** Agrees on fencing tokens, and makes sure that what was won is still worth something. */
  async #secure(winners: readonly Candidate[], answers: Answers<TakeReply>): Promise<void> {
    const tickets = winners.map((candidate): Winner => {
      const { request, attempt, slots, holdings } = candidate;
      const onLate = (index: number, holding: Holding): void =>
        this.#onLate(index, candidate, attempt, holding);
      return { id: request.id, attempt, slots, label: this.#call.label, holdings, onLate };
    });
    const timeLeft = (): number => Math.min(nodeTimeout(this.#call.ttl), this.#validity());
    const agreements = await agreeOnTokens(this.#quorum, this.#terms, tickets, timeLeft);
    for (const candidate of winners) {
      const agreement = agreements.get(candidate.request.id);
      // A node may have lost, since, what it had given.
      const slots = wonSlots(this.#votes(candidate, 0)) ?? [];
      const still = agreement !== undefined && hasAll(slots, candidate.slots);
      if (this.#validity() <= 0 || candidate.cancelled) this.#giveUp(candidate, 'late', answers);
      else if (still) this.#keep(candidate, agreement);
      else this.#giveUp(candidate, 'split', answers);
    }
    this.#align(winners);
  }

  #keep(candidate: Candidate, { token, unanswered }: Agreement): void {
    const { request, attempt, slots } = candidate;
    Object.assign(candidate, { progress: 'won', token, unanswered });
    const until = this.#quorum.clock.monotonic() + this.#validity();
    this.#quorum.held.set(request.id, { slots, token, attempt, until, label: this.#call.label });
  }

  /** Puts what was won where nodes gave something else, in one call to each. */
  #align(winners: readonly Candidate[]): void {
    this.#quorum.links.forEach((_, index) => {
      const ids = winners.flatMap(({ progress, request, holdings, token, slots, unanswered }) => {
        const holding = holdings[index];
        const isKnown = ((unanswered >> index) & 1) === 0;
        if (progress !== 'won' || holding === undefined || !isKnown) return [];
        return holding.token === token && sameSlots(holding.slots, slots) ? [] : request.id;
      });
      restoreTickets(this.#quorum, index, this.#terms, ids);
    });
  }

  /** Rolled back wherever it was given, or may be. */
  #giveUp(candidate: Candidate, progress: Progress, answers: Answers<TakeReply>): void {
    const { request, attempt, holdings } = candidate;
    candidate.progress = progress;
    answers.forEach((answer, index) => {
      const silent = answer === undefined || ('error' in answer && answer.sent);
      if (silent || holdings[index] !== undefined) {
        this.#quorum.rollBack(index, this.#call.key, request.id, attempt);
      }
    });
  }

  /** A node answered when it was too late to count its vote. */
  #onLate(index: number, candidate: Candidate, attempt: number, holding: Holding): void {
    const { id } = candidate.request;
    const current = candidate.attempt === attempt;
    if (current && candidate.progress === 'open') candidate.holdings[index] = holding;
    else if (!current || candidate.progress !== 'won' || this.#quorum.held.get(id) === undefined) {
      this.#quorum.rollBack(index, this.#call.key, id, attempt);
    } else if (!sameSlots(holding.slots, candidate.slots)) {
      restoreTickets(this.#quorum, index, this.#terms, [id]);
    }
  }

  #freeOnMajority(
    losers: readonly Candidate[],
    replies: readonly (TakeReply | undefined)[],
  ): number[] {
    const offers = replies.map((reply, index) => {
      const own = losers.flatMap(({ holdings }) => holdings[index]?.slots ?? []);
      return [...(reply?.free ?? []), ...own];
    });
    return slotsOnMajority(this.#quorum.majorities, offers);
  }

  /**
   * Those that were split. Those that have won do not wait for them, unless they are tries that
   * cannot queue.
   */
  #worthAnotherTry(won: boolean): readonly Candidate[] {
    const { ttl, notAfter = Infinity } = this.#call;
    const { clock } = this.#quorum;
    if (
      elapsedSince(this.#started, clock) > ttl * RETRY_BUDGET_FRACTION ||
      clock.monotonic() > notAfter
    )
      return [];
    return this.#candidates.filter(
      ({ progress, cancelled, request }) =>
        progress === 'split' && !cancelled && !(won && request.wait),
    );
  }

  /** Drawn from a range that grows: contenders that split the nodes must not meet again. */
  #pause(tries: number): Promise<void> {
    const pause =
      randomBy(this.#quorum.clock) * tries * Math.max(MIN_RETRY_PAUSE_MS, 2 * this.#roundTime);
    return new Promise((resolve) => this.#quorum.clock.schedule(resolve, pause, true));
  }

  #votes({ request, holdings }: Candidate, pending: number): Votes {
    return { permits: request.permits, majorities: this.#quorum.majorities, pending, holdings };
  }

  get #terms() {
    const { key, limit, ttl } = this.#call;
    return { key, limit, ttl };
  }

  /** Milliseconds for which a ticket that was asked for at the beginning is valid. */
  #validity(): number {
    return validityLeft(this.#started, this.#call.ttl, this.#quorum.clock);
  }
}
