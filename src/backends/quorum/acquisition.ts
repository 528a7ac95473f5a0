import type { AcquireCall, AcquireVerdict } from '../backend.js';
import { elapsedSince, type Instant, instant, randomBy } from '../../time/clock.js';
import { validityLeft } from '../../time/validity.js';
import { type Answers, nodeTimeout, repliedIn, SilentNodeError } from './asking.js';
import type { Quorum } from './quorum.js';
import type { HoldReply, HoldRequest } from './quorum-node.js';
import { Candidate } from './tickets.js';

/**
 * How often a call tries again after contenders have split the nodes between them, and within which
 * part of the ttl.
 */
const MAX_TRIES = 4;
const RETRY_BUDGET_FRACTION = 1 / 4;

/** The shortest range from which a pause between two tries is drawn. */
const MIN_RETRY_PAUSE_MS = 2;

/** How often an acquisition proposes a token until a majority gives that token. */
const MAX_PROPOSALS = 6;

/**
 * By how much a later proposal may exceed the lowest token that could win: other processes raise
 * tokens meanwhile, too.
 */
const MAX_HEADROOM_US = 1000;

/**
 * One call of `acquire`: rounds in which all nodes are asked, until each request has won, was
 * refused, or must wait.
 */
export class Acquisition {
  readonly #quorum: Quorum;
  readonly #call: AcquireCall;
  readonly #candidates: readonly Candidate[];
  readonly #started: Instant;
  /** Slots that a majority names as free, in random order: the next try aims at them. */
  #contested: number[] = [];
  #roundTime = 0;
  #otherLimit: number | undefined;

  constructor(quorum: Quorum, call: AcquireCall) {
    this.#quorum = quorum;
    this.#call = call;
    this.#started = instant(quorum.clock);
    this.#candidates = call.requests.map((each) => new Candidate(each, quorum.majorities));
  }

  /**
   * Sets a verdict for each request. Throws unless a majority answered.
   * @returns the limit of another caller
   */
  async run(verdicts: Map<string, AcquireVerdict>): Promise<number | undefined> {
    const { open } = this.#quorum;
    for (const candidate of this.#candidates) open.set(candidate.request.id, candidate);
    try {
      let contenders = this.#candidates;
      for (let tries = 1; contenders.length > 0; tries += 1) {
        const answers = await this.#try(contenders);
        const hasWon = this.#candidates.some(({ progress }) => progress === 'won');
        if (!hasWon) this.#quorum.assertMajority(answers);
        contenders = tries < MAX_TRIES ? this.#worthAnotherTry(hasWon) : [];
        if (contenders.length > 0) await this.#pause(tries);
      }
      for (const each of this.#candidates) verdicts.set(each.request.id, verdictOn(each));
      return this.#otherLimit;
    } finally {
      for (const { id } of this.#call.requests) open.delete(id);
    }
  }

  async #try(candidates: readonly Candidate[]): Promise<Answers<HoldReply>> {
    const before = this.#quorum.clock.monotonic();
    const answers = await this.#take(candidates);
    this.#roundTime = this.#quorum.clock.monotonic() - before;
    const { replies } = answers;
    this.#otherLimit ??= replies.find((reply) => reply?.otherLimit !== undefined)?.otherLimit;
    const otherSet = this.#quorum.findOtherSet(this.#call.key, answers);
    for (const candidate of candidates) {
      candidate.slots = (otherSet === undefined && candidate.votes.wonSlots()) || [];
    }
    const losers = candidates.filter(({ slots }) => slots.length === 0);
    const winners = candidates.filter(({ slots }) => slots.length > 0);
    this.#contested = this.#freeOnMajority(losers, answers);
    for (const loser of losers) {
      const isSplit = loser.votes.holdings.some((holding) => holding !== undefined);
      this.#undo(loser, isSplit ? 'split' : 'refused', answers);
    }
    if (otherSet !== undefined) throw otherSet;
    await this.#agree(winners);
    this.#conclude(winners, answers);
    return answers;
  }

  /** Begins a new attempt of each candidate. */
  #take(candidates: readonly Candidate[]): Promise<Answers<HoldReply>> {
    const first = this.#quorum.wantedToken();
    const requests = candidates.map((candidate, i) => {
      candidate.attempt = this.#quorum.attempts += 1;
      candidate.progress = 'open';
      candidate.token = undefined;
      const slots = this.#contested.splice(0, candidate.request.permits);
      return { ...this.#requestOf(candidate, 'take'), slots, token: first + i };
    });
    const isDecided = (answers: Answers<HoldReply>) => this.#isDecided(candidates, answers);
    return this.#quorum.hold(this.#call, requests, candidates, this.#timeLeft(), isDecided);
  }

  #requestOf({ request, attempt, slots }: Candidate, mode: HoldRequest['mode']): HoldRequest {
    const { id, permits } = request;
    return { id, mode, attempt, permits, slots, token: 0, label: this.#call.label };
  }

  #isDecided(candidates: readonly Candidate[], answers: Answers<HoldReply>): boolean {
    const { majorities } = this.#quorum;
    const { pending } = answers;
    // A refusal is an answer, too.
    const answered = repliedIn(answers);
    const isSettled = majorities.reachedBy(answered) || !majorities.reachedBy(answered | pending);
    let hasWon = false;
    for (const { votes } of candidates) {
      if (votes.wonSlots() !== undefined) hasWon = true;
      else if (!isSettled || votes.canWin(pending)) return false;
    }
    return this.#quorum.isSetSettled(answers, hasWon);
  }

  /**
   * Asks, while there is time, until a majority has given each winner the same token together with
   * its slots. A token that a node gave before the slot might be lower than the token of another
   * ticket that had the slot in between. Nothing is sent for a winner that has such a token after
   * the first round.
   */
  async #agree(winners: readonly Candidate[]): Promise<void> {
    let highest = 0;
    for (let proposals = 0; ; proposals += 1) {
      for (const winner of winners) winner.token ??= winner.votes.tokenWith(winner.slots);
      const open = winners.filter(({ token }) => token === undefined);
      if (open.length === 0 || proposals === MAX_PROPOSALS || this.#timeLeft() <= 0) return;
      // The tokens rise from ticket to ticket and are above all known tokens: a node gives each
      // token, or a higher token.
      highest = Math.max(highest, ...open.map(({ votes }) => votes.highestToken));
      const headroom = randomBy(this.#quorum.clock) * proposals * MAX_HEADROOM_US;
      const first = highest + 1 + Math.ceil(headroom);
      const requests = open.map((winner, i) => {
        return { ...this.#requestOf(winner, 'assign'), token: first + i };
      });
      const isDecided = ({ pending }: Answers<HoldReply>) =>
        open.every(({ votes, slots }) => {
          return votes.tokenWith(slots) !== undefined || !votes.canAgree(slots, pending);
        });
      await this.#quorum.hold(this.#call, requests, open, this.#timeLeft(), isDecided);
    }
  }

  /** Keeps the winners that are valid, and puts them on the nodes that gave them other slots. */
  #conclude(winners: readonly Candidate[], answers: Answers<HoldReply>): void {
    const { clock, open, held, links } = this.#quorum;
    const { label } = this.#call;
    for (const winner of winners) {
      const { request, attempt, slots, token } = winner;
      const validity = this.#validity();
      if (validity <= 0 || !open.has(request.id)) this.#undo(winner, 'late', answers);
      else if (token === undefined) this.#undo(winner, 'split', answers);
      else {
        winner.progress = 'won';
        const until = clock.monotonic() + validity;
        held.set(request.id, { slots, token, attempt, until, label });
      }
    }
    const won = winners.filter(({ progress }) => progress === 'won');
    const requests = won.map((winner) => this.#requestOf(winner, 'take'));
    links.forEach((_, node) => {
      const holdings = won.map(({ votes }) => votes.holdings[node]);
      this.#quorum.reconcile(node, this.#call, requests, holdings);
    });
  }

  /** Rolls the candidate back on every node that gave it a slot, or may have. */
  #undo(
    candidate: Candidate,
    progress: Candidate['progress'],
    { replies, errors }: Answers<HoldReply>,
  ): void {
    const { request, attempt, votes, slots } = candidate;
    candidate.progress = progress;
    replies.forEach((reply, node) => {
      const isRefused = reply !== undefined && votes.holdings[node] === undefined;
      // The votes of a winner are the votes for its token.
      if ((isRefused && slots.length === 0) || errors[node] instanceof SilentNodeError) return;
      this.#quorum.rollBack(node, this.#call.key, request.id, attempt);
    });
  }

  /** In random order, because contenders that aim at the same slots would meet again. */
  #freeOnMajority(losers: readonly Candidate[], { replies }: Answers<HoldReply>): number[] {
    const offers = replies.map((reply, node) => {
      const own = losers.flatMap(({ votes }) => votes.holdings[node]?.slots ?? []);
      return [...(reply?.free ?? []), ...own];
    });
    return this.#quorum.majorities
      .elect(offers)
      .map((slot) => ({ slot, at: randomBy(this.#quorum.clock) }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ slot }) => slot);
  }

  /**
   * The candidates that were split. A call with a winner does not try again for candidates that can
   * queue.
   */
  #worthAnotherTry(hasWon: boolean): readonly Candidate[] {
    const { ttl, notAfter = Infinity } = this.#call;
    const { clock, open } = this.#quorum;
    const isLate = elapsedSince(this.#started, clock) > ttl * RETRY_BUDGET_FRACTION;
    if (isLate || clock.monotonic() > notAfter) return [];
    return this.#candidates.filter(
      ({ progress, request }) =>
        progress === 'split' && open.has(request.id) && !(hasWon && request.wait),
    );
  }

  /** Drawn from a range that grows, because contenders that split the nodes must not meet again. */
  #pause(tries: number): Promise<void> {
    const { clock } = this.#quorum;
    const pause = randomBy(clock) * tries * Math.max(MIN_RETRY_PAUSE_MS, 2 * this.#roundTime);
    return new Promise((resolve) => clock.schedule(resolve, pause, true));
  }

  #timeLeft(): number {
    return Math.min(nodeTimeout(this.#call.ttl), this.#validity());
  }

  /** Milliseconds for which a ticket of this call is valid, counted from its beginning. */
  #validity(): number {
    return validityLeft({ from: this.#started, duration: this.#call.ttl }, this.#quorum.clock);
  }
}

function verdictOn({ progress, request, slots, token = 0 }: Candidate): AcquireVerdict {
  if (progress === 'won') return { kind: 'granted', fencingToken: token, slots };
  if (request.wait) return { kind: 'queued', arrival: undefined };
  return progress === 'late' ? { kind: 'late' } : { kind: 'busy' };
}
