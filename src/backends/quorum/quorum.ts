import type { SemaphoreKey } from '../backend.js';
import type { Clock } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { HeldTickets } from './held-tickets.js';
import { Majorities, nodesWhere } from './majorities.js';
import { BatchSize } from './batch-size.js';
import { HazardListeners } from './hazard-listeners.js';
import { NodeLink } from './node-link.js';
import type { ReportedSets } from './node-sets.js';
import { NodeSets } from './node-sets.js';
import type { GrantingCall, NodeReply, QuorumNode, RecordedSet } from './quorum-node.js';
import type { Answers, RoundOptions } from './round.js';
import { askAll, reasonsIn, repliedIn, repliesIn } from './round.js';
import { setName, formatSet } from './set-name.js';
import { Rollback } from './rollback.js';

/** Times and other terms of the tickets that a background call is about. */
export type TicketTerms = Pick<GrantingCall, 'key' | 'limit' | 'ttl'>;

export interface QuorumSettings {
  /** What every process calls the nodes. Left out: their own names. */
  readonly names?: readonly string[];
  /**
   * The lists of which each must be won by a majority, by the places of their nodes. Left out: one
   * list of all.
   */
  readonly lists?: readonly (readonly number[])[];
  /** What happens to acquires while others use the nodes in another set. Default `refuse`. */
  readonly otherSet?: 'refuse' | 'warn';
}

/**
 * What is found of other sets: `unrecorded`: none, but what was granted is not recorded; see
 * `NodeSets`.
 */
export interface OtherSet {
  readonly error?: QuorumError;
  readonly unrecorded?: boolean;
}

/** The nodes together, and what this process knows of them and of its tickets. */
export class Quorum {
  readonly clock: Clock;
  readonly links: readonly NodeLink[];
  readonly majorities: Majorities;
  readonly sets: NodeSets;
  /** They hear of other sets. */
  readonly listeners: HazardListeners = new HazardListeners();
  readonly held: HeldTickets;
  readonly batches: BatchSize = new BatchSize();
  readonly #rollbacks: readonly Rollback[];
  #attempts = 0;
  #longestTtl = 0;
  readonly #refusesOtherSets: boolean;

  constructor(nodes: readonly QuorumNode[], clock: Clock, settings: QuorumSettings) {
    this.clock = clock;
    this.links = nodes.map((node) => new NodeLink(node, clock));
    const lists = settings.lists ?? [nodes.map((_, place) => place)];
    this.majorities = new Majorities(nodes.length, lists);
    this.sets = new NodeSets(
      ownSet(settings.names ?? nodes.map(({ name }) => name), lists),
      this.majorities,
    );
    this.#refusesOtherSets = settings.otherSet !== 'warn';
    this.#rollbacks = this.links.map((link) => new Rollback(link, clock, this.sets));
    this.held = new HeldTickets(clock);
  }

  nextAttempt(): number {
    this.#attempts += 1;
    return this.#attempts;
  }

  /**
   * The nodes' clocks are never compared; this is what a fencing token should at least be, in
   * microseconds.
   */
  wantedToken(): number {
    const times = this.links.map(({ time }) => time ?? 0);
    return Math.ceil(Math.max(...times) * 1000);
  }

  ask<Reply extends NodeReply>(
    options: Omit<RoundOptions<Reply>, 'clock'>,
  ): Promise<Answers<Reply>> {
    return askAll(this.links, { clock: this.clock, ...options });
  }

  /** Throws unless a majority replied. */
  assertMajority(answers: Answers<unknown>): void {
    if (!this.majorities.reachedBy(repliedIn(answers))) throw this.errorFor(answers);
  }

  /**
   * Looks whether others use the nodes in another set, and warns of it.
   * @returns the reason not to hold what these answers granted, if there is one
   */
  findOtherSet(key: SemaphoreKey, answers: Answers<{ sets: readonly RecordedSet[] }>): OtherSet {
    const reported = setsIn(answers);
    const verdict = this.sets.judge(key, reported);
    if (verdict.kind !== 'other') return { unrecorded: verdict.kind === 'unrecorded' };
    const message = this.sets.describe(verdict.foreign);
    this.listeners.notify(key, message);
    if (!this.#refusesOtherSets) return {};
    const reasons = verdict.foreign.map(([set]) =>
      set === undefined ? undefined : new Error(`in use as one of ${formatSet(set)}`),
    );
    return { error: new QuorumError(this.majorities.needed, reasons, message) };
  }

  /**
   * Whether what was answered so far is enough to know that nobody uses the nodes in another set.
   * `won`: whether that matters.
   */
  isSetSettled(
    key: SemaphoreKey,
    answers: Answers<{ sets: readonly RecordedSet[] }>,
    won: boolean,
  ): boolean {
    if (this.sets.isSettled(key, setsIn(answers), won)) return true;
    return answers.every((answer, i) => answer !== undefined || this.links[i]?.silent === true);
  }

  errorFor(answers: Answers<unknown>): QuorumError {
    return new QuorumError(this.majorities.needed, reasonsIn(answers));
  }

  /** Whether a majority may yet be had when those nodes are asked again that failed. */
  isRetryable(error: QuorumError): boolean {
    const final = nodesWhere(
      this.links.map(({ node }, i) => [node, error.reasons[i]] as const),
      ([node, reason]) => reason !== undefined && !node.isRetryable(reason),
    );
    return this.majorities.possibleWithout(final);
  }

  /** How long a ticket may live on a node that cannot be reached, as far as this process knows. */
  rememberTtl(ttl: number): void {
    this.#longestTtl = Math.max(this.#longestTtl, ttl);
  }

  /** Takes back on one node a ticket, or an attempt that failed. */
  rollBack(index: number, key: SemaphoreKey, id: string, attempt: number): void {
    this.#rollbacks[index]?.add(key, id, attempt, this.#longestTtl);
  }

  /** Tickets that nodes have not yet confirmed as taken back. */
  get pendingRollbacks(): number {
    return this.#rollbacks.reduce((sum, { size }) => sum + size, 0);
  }
}

function ownSet(
  names: readonly (string | undefined)[],
  lists: readonly (readonly number[])[],
): string | undefined {
  if (names.includes(undefined)) return undefined;
  return setName(lists.map((places) => places.flatMap((place) => names[place] ?? [])));
}

function setsIn(answers: Answers<{ sets: readonly RecordedSet[] }>): ReportedSets {
  return repliesIn(answers).map((reply) => reply?.sets);
}
