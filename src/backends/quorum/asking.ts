import { placeOf } from '../place-of.js';
import { CallTimeoutError, withTimeout } from '../../time/call-timeout.js';
import { type Clock, type Instant, instant, randomBy, type Timer } from '../../time/clock.js';
import { ServerClock } from '../../time/server-clock.js';
import type { SemaphoreKey } from '../backend.js';
import { parseTicketId } from '../ticket-id.js';
import type { CallTiming, DropCall, DropRequest, NodeReply, QuorumNode } from './quorum-node.js';
import { LateCallError } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** Bounds of how long one node is waited for. */
export const MIN_NODE_TIMEOUT_MS = 50;
export const MAX_NODE_TIMEOUT_MS = 1000;

/** How long one node may take for a call about tickets that live so long, in milliseconds. */
export function nodeTimeout(ttl: number): number {
  return Math.min(Math.max(ttl / 10, MIN_NODE_TIMEOUT_MS), MAX_NODE_TIMEOUT_MS);
}

/** Pauses between tries to take tickets back grow from the first to the longest time of a call. */
const FIRST_PAUSE_MS = 20;

/** How many tickets are taken back again on one occasion. */
const MOST_RETRIES = 100;

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

/** What no longer counts. */
interface Rollback extends DropRequest {
  readonly key: SemaphoreKey;
  /** Of its semaphore and id. */
  readonly place: string;
  /** Monotonic time by which the node has dropped it by itself. */
  readonly until: number;
}

/** One node as this process knows it: its clock, whether it answers, and what it must drop. */
export class NodeLink {
  readonly node: QuorumNode;
  readonly #clock: Clock;
  readonly #origin: DropCall['origin'];
  readonly #serverClock: ServerClock;
  readonly #open = new Set<OpenCall>();
  #lastSent = -Infinity;
  /** A call has failed that was waited for in vain, and none was answered since. */
  #isFailing = false;
  /** How long the last call that was answered took. */
  #took = 0;
  /** By place: until the node confirms it. */
  readonly #rollbacks = new Map<string, Rollback>();
  readonly #failed: Rollback[] = [];
  #pauseMs = FIRST_PAUSE_MS;
  #timer: Timer | undefined;

  /** `origin`: of the attempts that are rolled back. */
  constructor(node: QuorumNode, clock: Clock, origin: DropCall['origin']) {
    this.node = node;
    this.#clock = clock;
    this.#origin = origin;
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
    this.#rollBackFailed();
  }

  /**
   * Takes back what no longer counts, until the node confirms it or it has expired there by itself:
   * at once, in the hope that the node executes calls in the order in which they were sent, and
   * again as soon as a node that was silent answers. `attempt`: later ones are left alone.
   * `spanMs`: how long what is there may live.
   */
  rollBack(key: SemaphoreKey, id: string, attempt: number, spanMs: number): void {
    const place = `${id} ${placeOf(key)}`;
    const before = this.#rollbacks.get(place);
    const until = Math.max(before?.until ?? 0, this.#clock.monotonic() + spanMs);
    const latest = Math.max(before?.attempt ?? 0, attempt);
    const rollback = { key, id, place, attempt: latest, until };
    this.#rollbacks.set(place, rollback);
    void this.#drop(rollback);
  }

  async #drop(rollback: Rollback): Promise<void> {
    const { key, place, until } = rollback;
    const isPending = (): boolean => this.#rollbacks.get(place) === rollback;
    try {
      if (until > this.#clock.monotonic()) {
        const call = { key, origin: this.#origin, tickets: [rollback] };
        const dropping = this.call(MAX_NODE_TIMEOUT_MS, (node, { timeoutMs }) =>
          node.drop({ ...call, timeoutMs }),
        );
        await withTimeout(this.#clock, MAX_NODE_TIMEOUT_MS, dropping);
        this.#pauseMs = FIRST_PAUSE_MS;
      }
      if (isPending()) this.#rollbacks.delete(place);
    } catch {
      if (!isPending()) return;
      this.#failed.push(rollback);
      if (this.#timer !== undefined) return;
      const pauseMs = this.#pauseMs * (1 + randomBy(this.#clock));
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_NODE_TIMEOUT_MS);
      this.#timer = this.#clock.schedule(() => this.#rollBackFailed(), pauseMs, false);
    }
  }

  /** Some of them: the answer to these is the next occasion. */
  #rollBackFailed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const rollback of this.#failed.splice(0, MOST_RETRIES)) void this.#drop(rollback);
  }
}

/** What the nodes answered, in their order. */
export interface Answers<Reply> {
  readonly replies: (Reply | undefined)[];
  /** Why nodes gave no reply. */
  readonly errors: unknown[];
  /** The nodes of which neither has come. */
  pending: number;
}

export interface Question<Reply extends NodeReply> {
  /** How long to wait for any node. */
  readonly timeoutMs: number;
  readonly send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>;
  /** Whether what is missing can change nothing any more. `node`: the last that answered. */
  readonly isDecided: (answers: Answers<Reply>, node: number) => boolean;
  /** Takes a reply that came when the round was over; undefined: the call has failed. */
  readonly onLate?: (node: number, reply: Reply | undefined) => void;
}

/**
 * Asks all nodes at once, and gives what they answered as soon as that decides, or when the time
 * for it is over: a node that hangs delays no caller. Never rejects.
 */
export function askAll<Reply extends NodeReply>(
  { links, clock }: { readonly links: readonly NodeLink[]; readonly clock: Clock },
  { timeoutMs, send, isDecided, onLate }: Question<Reply>,
): Promise<Answers<Reply>> {
  return new Promise((resolve) => {
    const answers: Answers<Reply> = {
      replies: links.map(() => undefined),
      errors: links.map(() => undefined),
      pending: nodesWhere(links, () => true),
    };
    let isOver = false;
    const end = (): void => {
      isOver = true;
      timer.cancel();
      resolve(answers);
    };
    const onTimeout = (): void => {
      if (isOver) return;
      links.forEach((_, node) => {
        if ((answers.pending >> node) & 1) answers.errors[node] = new CallTimeoutError(timeoutMs);
      });
      end();
    };
    // After a stall of the event loop timers run first: what has arrived meanwhile must be read
    // before it counts as silence.
    const timer = clock.schedule(() => void setImmediate(onTimeout), timeoutMs, false);
    links.forEach((link, node) => {
      const settle = (reply: Reply | undefined, error?: unknown): void => {
        if (isOver) {
          onLate?.(node, reply);
          return;
        }
        answers.replies[node] = reply;
        answers.errors[node] = error;
        answers.pending &= ~(1 << node);
        if (isDecided(answers, node) || answers.pending === 0) end();
      };
      link.call(timeoutMs, send).then(settle, (error: unknown) => settle(undefined, error));
    });
  });
}

/** The nodes that replied. */
export function repliedIn({ replies }: Answers<unknown>): number {
  return nodesWhere(replies, (reply) => reply !== undefined);
}

/**
 * In one call, and so in one ticket: a node works on them for some 50 ms, in which it does nothing
 * else.
 */
export const MAX_PERMITS_PER_CALL = 10_000;

/** They are arguments of a script, and Lua's stack carries a few thousand. */
const MAX_TICKETS_PER_CALL = 100;

/**
 * How many permits one call is about: fewer where nodes could not do as many in the time that they
 * have.
 */
export class BatchSize {
  #permits = MAX_PERMITS_PER_CALL;

  /** In parts that are not too large, none of them empty. */
  split<T extends { readonly id: string }>(tickets: readonly T[]): T[][] {
    const parts: T[][] = [];
    let left = 0;
    for (const ticket of tickets) {
      const permits = permitsOf(ticket.id);
      const last = parts.at(-1);
      if (last === undefined || permits > left || last.length === MAX_TICKETS_PER_CALL) {
        parts.push([ticket]);
        left = this.#permits;
      } else last.push(ticket);
      left -= permits;
    }
    return parts;
  }

  /** Adapts to what became of a call about that many permits. */
  learn(permits: number, answers: Answers<unknown>): void {
    if (repliedIn(answers) !== 0) {
      if (2 * permits > this.#permits)
        this.#permits = Math.min(2 * this.#permits, MAX_PERMITS_PER_CALL);
    } else if (answers.errors.some(cameTooLate)) {
      this.#permits = Math.max(1, Math.min(this.#permits, Math.ceil(permits / 2)));
    }
  }
}

function cameTooLate(error: unknown): boolean {
  return error instanceof CallTimeoutError || error instanceof LateCallError;
}

export function permitsOf(id: string): number {
  return parseTicketId(id)?.permits ?? 1;
}
