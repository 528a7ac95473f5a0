import type { Clock } from '../../time/clock.js';
import { instant } from '../../time/clock.js';
import { ServerClock } from '../../time/server-clock.js';
import { LateCallError } from './quorum-node.js';
import type { CallTiming, NodeReply, QuorumNode } from './quorum-node.js';

/** By how much the next call may take longer than the last. */
const SLACK_MS = 2;

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
  #failing = false;
  #seen: { readonly time: number; readonly sent: number; readonly took: number } | undefined;
  /** Called at each answer. */
  onAnswer: (() => void) | undefined;

  constructor(node: QuorumNode, clock: Clock) {
    this.node = node;
    this.#clock = clock;
    this.#serverClock = new ServerClock(clock);
  }

  /**
   * More than the node's clock will show when a call that is sent now arrives; undefined until it
   * was ever seen.
   */
  get time(): number | undefined {
    if (this.#seen === undefined) return undefined;
    const { time, sent, took } = this.#seen;
    return time + this.#clock.monotonic() - sent + took + SLACK_MS;
  }

  /**
   * It has left a call unanswered for longer than that was waited for, whatever the client made of
   * that call later.
   */
  get silent(): boolean {
    if (this.#failing) return true;
    const [oldest] = this.#open;
    return oldest !== undefined && this.#clock.monotonic() - oldest.since > oldest.timeoutMs;
  }

  /**
   * Sends a call, which may never settle. It carries the time on the node's
   * clock after which it must change nothing, as soon as that clock was ever seen.
   */
  async call<Reply extends NodeReply>(
    timeoutMs: number,
    send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>,
  ): Promise<Reply> {
    this.#assertAnswering(timeoutMs);
    const sent = instant(this.#clock);
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
      else if (this.#clock.monotonic() - sent.monotonic > timeoutMs) this.#failing = true;
      throw error;
    }
  }

  #answered(sent: ReturnType<typeof instant>, time: number, timeoutMs: number): void {
    // It is there: calls before this one, if still open, were lost on their way.
    this.#open.clear();
    this.#failing = false;
    this.#serverClock.observe(sent, time);
    // A call that arrives later than its timeout is refused, so no more need be allowed for.
    const took = Math.min(this.#clock.monotonic() - sent.monotonic, timeoutMs);
    this.#seen = { time, sent: sent.monotonic, took };
    this.onAnswer?.();
  }

  /**
   * A node that leaves a call unanswered gets one at a time: what is sent meanwhile only piles up.
   */
  #assertAnswering(timeoutMs: number): void {
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    const now = this.#clock.monotonic();
    const silence = now - oldest.since;
    if (silence > oldest.timeoutMs && now - this.#lastSent < timeoutMs) {
      throw new SilentNodeError(silence);
    }
  }
}
