import type { SemaphoreKey } from '../backend.js';
import type { Clock } from '../../time/clock.js';
import { randomBy } from '../../time/clock.js';
import { QuorumError } from '../../errors.js';
import { HeldTickets } from './held-tickets.js';
import { Majorities, nodesWhere } from './majorities.js';
import { BatchSize } from './batch-size.js';
import { HazardListeners } from './hazard-listeners.js';
import { NodeLink } from './node-link.js';
import type { Told } from './node-sets.js';
import { NodeSets } from './node-sets.js';
import type {
  GrantingCall,
  KeepRequest,
  NodeReply,
  QuorumNode,
  RecordedSet,
} from './quorum-node.js';
import type { Answers, RoundOptions } from './round.js';
import { askAll, reasonsIn, repliedIn, repliesIn } from './round.js';
import { setName, shownSet } from './set-name.js';
import { sameSlots } from './tally.js';
import { Undo } from './undo.js';

/** Bounds of how long one node is waited for, in milliseconds. */
export const SHORTEST_LIMIT = 50;
const LONGEST_LIMIT = 1000;

/** How often a ticket is put back on a node where its slot is just being tried for by somebody else. */
const RESTORE_TRIES = 3;
const RESTORE_PAUSE = 10;

/** Times and other terms of the tickets that a background call is about. */
export type Terms = Omit<GrantingCall, 'notAfter' | 'claim'>;

export interface QuorumSettings {
  /** What every process calls the nodes. Left out: their own names. */
  readonly names?: readonly string[];
  /** The lists of which each must be won by a majority, by the places of their nodes. Left out: one list of all. */
  readonly lists?: readonly (readonly number[])[];
  /** What becomes of permits while others use the nodes in another set. Default `refuse`. */
  readonly otherSet?: 'refuse' | 'warn';
}

/** What is found of other sets: `unrecorded`: none, but what was granted is not recorded; see `NodeSets`. */
export interface OtherSet {
  readonly error?: QuorumError;
  readonly unrecorded?: boolean;
}

/** How long one node may take for a call about tickets that live so long. */
export function nodeLimit(ttl: number): number {
  return Math.min(Math.max(ttl / 10, SHORTEST_LIMIT), LONGEST_LIMIT);
}

/** The nodes together, and what goes on with them in the background. */
export class Quorum {
  readonly clock: Clock;
  readonly links: readonly NodeLink[];
  readonly majorities: Majorities;
  readonly sets: NodeSets;
  /** Told of other sets. */
  readonly listeners: HazardListeners = new HazardListeners();
  readonly held: HeldTickets;
  readonly batches: BatchSize = new BatchSize();
  readonly #undos: readonly Undo[];
  #attempts = 0;
  #longestTtl = 0;
  readonly #refusing: boolean;

  constructor(nodes: readonly QuorumNode[], clock: Clock, settings: QuorumSettings) {
    this.clock = clock;
    this.links = nodes.map((node) => new NodeLink(node, clock));
    const lists = settings.lists ?? [nodes.map((_, place) => place)];
    this.majorities = new Majorities(nodes.length, lists);
    this.sets = new NodeSets(
      ownSet(settings.names ?? nodes.map(({ name }) => name), lists),
      this.majorities,
    );
    this.#refusing = settings.otherSet !== 'warn';
    this.#undos = this.links.map(
      (link) => new Undo(link, clock, (key) => this.sets.originOf(key, false)),
    );
    this.held = new HeldTickets(clock);
  }

  nextAttempt(): number {
    this.#attempts += 1;
    return this.#attempts;
  }

  /** The nodes' clocks are never compared; this is what a fencing token should at least be, in microseconds. */
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
    const told = toldIn(answers);
    const verdict = this.sets.judge(key, told);
    if (verdict.kind !== 'other') return { unrecorded: verdict.kind === 'unrecorded' };
    const message = this.sets.describe(verdict.strangers);
    this.listeners.tell(key, message);
    if (!this.#refusing) return {};
    const reasons = verdict.strangers.map(([set]) =>
      set === undefined ? undefined : new Error(`in use as one of ${shownSet(set)}`),
    );
    return { error: new QuorumError(this.majorities.needed, reasons, message) };
  }

  /** Whether what was answered so far is enough to know that nobody uses the nodes in another set. `won`: whether that matters. */
  isSetSettled(
    key: SemaphoreKey,
    answers: Answers<{ sets: readonly RecordedSet[] }>,
    won: boolean,
  ): boolean {
    if (this.sets.isSettled(key, toldIn(answers), won)) return true;
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

  /** Sees to it that one node does not keep a ticket, or not that of an attempt that failed. */
  undo(index: number, key: SemaphoreKey, id: string, attempt: number): void {
    this.#undos[index]?.add(key, id, attempt, this.#longestTtl);
  }

  /** How many tickets are still to be taken back from nodes. */
  get undoing(): number {
    return this.#undos.reduce((sum, { size }) => sum + size, 0);
  }

  /** Puts tickets that a majority holds on one node that lacks them, in the background. */
  restore(
    index: number,
    terms: Terms,
    ids: readonly string[],
    tries: number = RESTORE_TRIES,
  ): void {
    const requests = ids.flatMap((id) => this.restoring(id) ?? []);
    const link = this.links[index];
    if (requests.length === 0 || link === undefined) return;
    const limit = nodeLimit(terms.ttl);
    const done = link.call(limit, (node, notAfter) =>
      node.keep({ ...terms, claim: this.sets.claimOfHolder(terms.key), notAfter, requests }),
    );
    const onReply = (holdings: readonly ({ slots: readonly number[] } | undefined)[]): void => {
      const again = requests.filter(({ id, slots }, i) => {
        const holding = holdings[i];
        if (holding !== undefined && this.held.get(id) === undefined) {
          this.undo(index, terms.key, id, Infinity);
        }
        return !sameSlots(holding?.slots ?? [], slots);
      });
      if (again.length === 0 || tries <= 1) return;
      const pause = RESTORE_PAUSE * (0.5 + randomBy(this.clock));
      const restore = (): void =>
        this.restore(
          index,
          terms,
          again.map(({ id }) => id),
          tries - 1,
        );
      this.clock.schedule(restore, pause, false);
    };
    // What fails here is tried again with the next extension.
    void done.then(
      (reply) => onReply(reply.holdings),
      () => undefined,
    );
  }

  /** What a node is told that lacks a ticket; undefined when it is no longer held. */
  restoring(id: string): KeepRequest | undefined {
    const ticket = this.held.get(id);
    if (ticket === undefined) return undefined;
    const { slots, token, attempt, label } = ticket;
    return { id, mode: 'restore', attempt, slots, token, label };
  }
}

function ownSet(
  names: readonly (string | undefined)[],
  lists: readonly (readonly number[])[],
): string | undefined {
  if (names.includes(undefined)) return undefined;
  return setName(lists.map((places) => places.flatMap((place) => names[place] ?? [])));
}

function toldIn(answers: Answers<{ sets: readonly RecordedSet[] }>): Told {
  return repliesIn(answers).map((reply) => reply?.sets);
}
