import type { SemaphoreKey } from '../backend.js';
import type { Clock } from '../clock.js';
import { randomBy } from '../clock.js';
import { QuorumError } from '../errors.js';
import { HeldTickets } from './held-tickets.js';
import { NodeLink } from './node-link.js';
import type { GrantingCall, KeepRequest, NodeReply, QuorumNode } from './quorum-node.js';
import type { Answers, RoundOptions } from './round.js';
import { askAll, reasonsIn, repliesIn } from './round.js';
import { majorityOf, sameSlots } from './tally.js';
import { Undo } from './undo.js';

/** Bounds of how long one node is waited for, in milliseconds. */
export const SHORTEST_LIMIT = 50;
const LONGEST_LIMIT = 1000;

/** How often a ticket is put back on a node where its slot is just being tried for by somebody else. */
const RESTORE_TRIES = 3;
const RESTORE_PAUSE = 10;

/** Times and other terms of the tickets that a background call is about. */
export type Terms = Omit<GrantingCall, 'notAfter'>;

/** How long one node may take for a call about tickets that live so long. */
export function nodeLimit(ttl: number): number {
  return Math.min(Math.max(ttl / 10, SHORTEST_LIMIT), LONGEST_LIMIT);
}

/** The nodes together, and what goes on with them in the background. */
export class Quorum {
  readonly clock: Clock;
  readonly links: readonly NodeLink[];
  readonly majority: number;
  readonly held: HeldTickets;
  readonly #undos: readonly Undo[];
  #attempts = 0;
  #longestTtl = 0;

  constructor(nodes: readonly QuorumNode[], clock: Clock) {
    this.clock = clock;
    this.links = nodes.map((node) => new NodeLink(node, clock));
    this.#undos = this.links.map((link) => new Undo(link, clock));
    this.majority = majorityOf(nodes.length);
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
    const replies = repliesIn(answers).filter((reply) => reply !== undefined).length;
    if (replies < this.majority) throw this.errorFor(answers);
  }

  errorFor(answers: Answers<unknown>): QuorumError {
    return new QuorumError(this.majority, reasonsIn(answers));
  }

  /** Whether a majority may yet be had when those nodes are asked again that failed. */
  isRetryable(error: QuorumError): boolean {
    const final = error.reasons.filter(
      (reason, i) => reason !== undefined && this.links[i]?.node.isRetryable(reason) === false,
    );
    return this.links.length - final.length >= this.majority;
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
    const done = link.call(limit, (node, notAfter) => node.keep({ ...terms, notAfter, requests }));
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
