import type { SemaphoreKey } from '../backend.js';
import type { Clock } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { HeldTickets } from './held-tickets.js';
import { Majorities, nodesWhere } from './majorities.js';
import { BatchSize } from './batch-size.js';
import { HazardListeners } from './hazard-listeners.js';
import { NodeLink } from './node-link.js';
import type { ReportedSets } from './node-sets.js';
import { formatSet, NodeSets, setName } from './node-sets.js';
import type { GrantingCall, NodeReply, QuorumNode, RecordedSet } from './quorum-node.js';
import type { Answers, RoundOptions } from './round.js';
import { askAll, reasonsIn, repliedIn, repliesIn } from './round.js';
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

  constructor(nodes: readonly QuorumNode[], clock: Clock, settings: QuorumSettings) {
    this.clock = clock;
    this.links = nodes.map((node) => new NodeLink(node, clock));
    const lists = settings.lists ?? [nodes.map((_, place) => place)];
    this.majorities = new Majorities(nodes.length, lists);
    const set = ownSet(settings.names ?? nodes.map(({ name }) => name), lists);
    const { otherSet = 'refuse' } = settings;
    this.sets = new NodeSets(set === undefined ? undefined : { set, otherSet }, this.majorities);
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
   * Whether others use the nodes in another set, and warns of it.
   * @returns the reason not to hold what these answers granted
   */
  findOtherSet(key: SemaphoreKey, answers: Answers<SetsReply>): QuorumError | undefined {
    const reported = setsIn(answers);
    const foreign = this.sets.foreignIn(reported);
    if (foreign.flat().length === 0 || this.sets.isProven(reported)) return undefined;
    const message = this.sets.describe(foreign);
    this.listeners.notify(key, message);
    if (this.sets.claim?.otherSet === 'warn') return undefined;
    const reasons = foreign.map(([set]) =>
      set === undefined ? undefined : new Error(`in use as one of ${formatSet(set)}`),
    );
    return new QuorumError(this.majorities.needed, reasons, message);
  }

  /**
   * Whether what was answered so far is enough to know that nobody uses the nodes in another set.
   * `won`: whether that matters.
   */
  isSetSettled(answers: Answers<SetsReply>, won: boolean): boolean {
    const reported = setsIn(answers);
    if (this.sets.claim === undefined || this.sets.isProven(reported)) return true;
    if (!won && this.sets.foreignIn(reported).flat().length === 0) return true;
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

interface SetsReply {
  readonly sets: readonly RecordedSet[];
}

function setsIn(answers: Answers<SetsReply>): ReportedSets {
  return repliesIn(answers).map((reply) => reply?.sets);
}
