import type { Clock, Instant } from '../../time/clock.js';
import { instant } from '../../time/clock.js';
import { ServerClock } from '../../time/server-clock.js';
import { LateCallError } from './quorum-node.js';
import type { CallTiming, NodeReply, QuorumNode } from './quorum-node.js';

/** Bounds of how long one node is waited for. */
export const MIN_NODE_TIMEOUT_MS = 50;
export const MAX_NODE_TIMEOUT_MS = 1000;

/** How long one node may take for a call about tickets that live so long, in milliseconds. */
export function nodeTimeout(ttl: number): number {
  return Math.min(Math.max(ttl / 10, MIN_NODE_TIMEOUT_MS), MAX_NODE_TIMEOUT_MS);
}

/**
 * A node has left an earlier call without an answer, and is not asked until it gives one or some
 * time has passed.
 */
export class SilentNodeError extends Error {
  constructor(silence: number) {
    super(`no reply for ${Math.round(silence)} ms`);
    this.name = 'SilentNodeError';
  }
}

interface OpenCall {
  readonly since: number;
  readonly timeoutMs: number;
}

/** One node as this process knows it: its clock, and whether it answers. */
export class NodeLink {
  readonly node: QuorumNode;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #open = new Set<OpenCall>();
  #lastSent = -Infinity;
  /** A call has failed that was waited for in vain, and none was answered since. */
  #isFailing = false;
  /** How long the last call that was answered took. */
  #took = 0;
  /** Called at each answer. */
  onAnswer: (() => void) | undefined;

  constructor(node: QuorumNode, clock: Clock) {
    this.node = node;
    this.#clock = clock;
    this.#serverClock = new ServerClock(clock);
  }

  /**
   * More than the node's clock will show when a call that is sent now arrives; 0 until it was ever
   * seen.
   */
  get time(): number {
    return this.#serverClock.latestIn(this.#took) ?? 0;
  }

  /**
   * It has left a call unanswered for longer than that was waited for, whatever the client made of
   * that call later.
   */
  get isSilent(): boolean {
    return this.#isFailing || this.#silence > 0;
  }

  /** For how long, in milliseconds. */
  get #silence(): number {
    const [oldest] = this.#open;
    if (oldest === undefined) return 0;
    const silence = this.#clock.monotonic() - oldest.since;
    return silence > oldest.timeoutMs ? silence : 0;
  }

  /**
   * Sends a call, which may never settle. It carries the time on the node's clock after which it
   * must change nothing, as soon as that clock was ever seen. A node that leaves a call unanswered
   * gets one at a time: what is sent meanwhile only piles up.
   */
  async call<Reply extends NodeReply>(
    timeoutMs: number,
    send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>,
  ): Promise<Reply> {
    const sent = instant(this.#clock);
    const silence = this.#silence;
    if (silence > 0 && sent.monotonic - this.#lastSent < timeoutMs) {
      throw new SilentNodeError(silence);
    }
    const open: OpenCall = { since: sent.monotonic, timeoutMs };
    this.#open.add(open);
    this.#lastSent = sent.monotonic;
    try {
      const notAfter = this.#serverClock.latestIn(timeoutMs);
      const reply = await send(this.node, { notAfter, timeoutMs });
      this.#answered(sent, reply.time, timeoutMs);
      return reply;
    } catch (error) {
      this.#open.delete(open);
      if (error instanceof LateCallError) this.#answered(sent, error.time, timeoutMs);
      else if (this.#clock.monotonic() - sent.monotonic > timeoutMs) this.#isFailing = true;
      throw error;
    }
  }

  #answered(sent: Instant, time: number, timeoutMs: number): void {
    // It is there: calls before this one, if still open, were lost on their way.
    this.#open.clear();
    this.#isFailing = false;
    this.#serverClock.observe(sent, time);
    // A call that arrives later than its timeout is refused, so no more need be allowed for.
    this.#took = Math.min(this.#clock.monotonic() - sent.monotonic, timeoutMs);
    this.onAnswer?.();
  }
}
