import { placeOf } from '../place-of.js';
import { CallTimeoutError, withTimeout } from '../../time/call-timeout.js';
import { type Clock, type Instant, instant, randomBy, type Timer } from '../../time/clock.js';
import { ServerClock } from '../../time/server-clock.js';
import type { SemaphoreKey } from '../backend.js';
import { parseTicketId } from '../ticket-id.js';
import type { CallTiming, DropCall, DropRequest, NodeReply, QuorumNode } from './quorum-node.js';
import { LateCallError } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** The shortest and the longest time that a node has for a call. */
export const MIN_NODE_TIMEOUT_MS = 50;
export const MAX_NODE_TIMEOUT_MS = 1000;

/** How long a node may take for a call about tickets with this ttl, in milliseconds. */
export function nodeTimeout(ttl: number): number {
  return Math.min(Math.max(ttl / 10, MIN_NODE_TIMEOUT_MS), MAX_NODE_TIMEOUT_MS);
}

/** The first pause between two rollbacks; pauses double up to the longest time of a call. */
const FIRST_PAUSE_MS = 20;

/** How many failed rollbacks are sent again at once. */
const MOST_RETRIES = 100;

/**
 * The node has not answered an earlier call. It gets no call until it answers or some time has
 * passed.
 */
export class SilentNodeError extends Error {
  constructor(silence: number) {
    super(`no reply for ${Math.round(silence)} ms`);
    this.name = 'SilentNodeError';
  }
}

/** A ticket, or an attempt, that the node must drop. */
interface Rollback extends DropRequest {
  readonly key: SemaphoreKey;
  /** The monotonic time at which it has expired on the node. */
  readonly until: number;
}

/** A node as this process knows it: its clock, whether it answers, and what it must drop. */
export class NodeLink {
  readonly node: QuorumNode;
  readonly #clock: Clock;
  readonly #origin: DropCall['origin'];
  readonly #serverClock: ServerClock;
  /** The calls without an answer, the oldest first. */
  readonly #open = new Set<{ readonly since: number; readonly timeoutMs: number }>();
  #lastSent = -Infinity;
  /** A call has failed after its time was over, and no call was answered since. */
  #isFailing = false;
  /** How long the last answered call took. */
  #took = 0;
  /** By semaphore and id, until the node confirms the rollback. */
  readonly #rollbacks = new Map<string, Rollback>();
  readonly #failed: Rollback[] = [];
  #pauseMs = FIRST_PAUSE_MS;
  #timer: Timer | undefined;

  /** `origin`: of the tickets that are rolled back. */
  constructor(node: QuorumNode, clock: Clock, origin: DropCall['origin']) {
    this.node = node;
    this.#clock = clock;
    this.#origin = origin;
    this.#serverClock = new ServerClock(clock);
  }

  /**
   * A time that the node's clock will not have reached when a call that is sent now arrives; 0
   * until the first answer.
   */
  get time(): number {
    return this.#serverClock.latestIn(this.#took) ?? 0;
  }

  /** The node has not answered a call in time, whatever the client did with that call later. */
  get isSilent(): boolean {
    return this.#isFailing || this.#silence > 0;
  }

  /** How old the oldest overdue call is, in milliseconds; 0: no call is overdue. */
  get #silence(): number {
    const [oldest] = this.#open;
    if (oldest === undefined) return 0;
    const silence = this.#clock.monotonic() - oldest.since;
    return silence > oldest.timeoutMs ? silence : 0;
  }

  /**
   * Sends a call, which may never settle. After the first answer of the node, a call carries the
   * time on the node's clock after which it must change nothing. A silent node gets one call at a
   * time, because further calls would only pile up.
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
    const open = { since: sent.monotonic, timeoutMs };
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
    // The node is there: earlier calls that are still open were lost on their way.
    this.#open.clear();
    this.#isFailing = false;
    this.#serverClock.observe(sent, time);
    // The node refuses a call that arrives after its timeout, so no more time counts.
    this.#took = Math.min(this.#clock.monotonic() - sent.monotonic, timeoutMs);
    this.#rollBackFailed();
  }

  /**
   * Drops a ticket on the node, until the node confirms it or the ticket has expired there. The
   * first call leaves at once: most nodes run calls in the order in which they were sent. The next
   * call leaves when a silent node answers. `attempt`: later attempts stay. `spanMs`: how long the
   * ticket may live.
   */
  rollBack(key: SemaphoreKey, id: string, attempt: number, spanMs: number): void {
    const ticket = `${id} ${placeOf(key)}`;
    const latest = Math.max(this.#rollbacks.get(ticket)?.attempt ?? 0, attempt);
    const rollback = { key, id, attempt: latest, until: this.#clock.monotonic() + spanMs };
    this.#rollbacks.set(ticket, rollback);
    void this.#drop(rollback);
  }

  async #drop(rollback: Rollback): Promise<void> {
    const { key, id, until } = rollback;
    const ticket = `${id} ${placeOf(key)}`;
    const isPending = (): boolean => this.#rollbacks.get(ticket) === rollback;
    try {
      if (until > this.#clock.monotonic()) {
        const call = { key, origin: this.#origin, tickets: [rollback] };
        const dropping = this.call(MAX_NODE_TIMEOUT_MS, (node, { timeoutMs }) =>
          node.drop({ ...call, timeoutMs }),
        );
        await withTimeout(this.#clock, MAX_NODE_TIMEOUT_MS, dropping);
        this.#pauseMs = FIRST_PAUSE_MS;
      }
      if (isPending()) this.#rollbacks.delete(ticket);
    } catch {
      if (!isPending()) return;
      this.#failed.push(rollback);
      if (this.#timer !== undefined) return;
      const pauseMs = this.#pauseMs * (1 + randomBy(this.#clock));
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_NODE_TIMEOUT_MS);
      this.#timer = this.#clock.schedule(() => this.#rollBackFailed(), pauseMs, false);
    }
  }

  /** Sends some of the failed rollbacks again: the answer to these sends the next. */
  #rollBackFailed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const rollback of this.#failed.splice(0, MOST_RETRIES)) void this.#drop(rollback);
  }
}

/** The answers of the nodes, in the order of the nodes. */
export interface Answers<Reply> {
  readonly replies: (Reply | undefined)[];
  /** The error of each node that gave no reply. */
  readonly errors: unknown[];
  /** The nodes that have given neither, as bits. */
  pending: number;
}

export interface Question<Reply extends NodeReply> {
  /** How long the caller waits for the nodes. */
  readonly timeoutMs: number;
  readonly send: (node: QuorumNode, timing: CallTiming) => Promise<Reply>;
  /** Whether further answers can change nothing. `node`: the node that answered last. */
  readonly isDecided: (answers: Answers<Reply>, node: number) => boolean;
  /** Gets a reply that comes after the end of the round; undefined: the call has failed. */
  readonly onLate?: (node: number, reply: Reply | undefined) => void;
}

/**
 * Asks all nodes at once. Gives their answers when these decide, or when the time is over: a node
 * that hangs delays no caller. Never rejects.
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
    // After a stall of the event loop, timers run first. Replies that have arrived meanwhile must
    // be read before a node counts as silent.
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
 * Most permits in a call, and so in a ticket: a node works on them for some 50 ms, and does nothing
 * else meanwhile.
 */
export const MAX_PERMITS_PER_CALL = 10_000;

/** Tickets are arguments of a script, and Lua's stack carries a few thousand. */
const MAX_TICKETS_PER_CALL = 100;

/** How many permits a call may have: fewer after a call for which the nodes had too little time. */
export class BatchSize {
  #permits = MAX_PERMITS_PER_CALL;

  /** Splits tickets into batches, none of them empty. */
  split<T extends { readonly id: string }>(tickets: readonly T[]): T[][] {
    const batches: T[][] = [];
    let left = 0;
    for (const ticket of tickets) {
      const permits = permitsOf(ticket.id);
      const last = batches.at(-1);
      if (last === undefined || permits > left || last.length === MAX_TICKETS_PER_CALL) {
        batches.push([ticket]);
        left = this.#permits;
      } else last.push(ticket);
      left -= permits;
    }
    return batches;
  }

  /** Adapts to the answers to a call with that many permits. */
  learn(permits: number, { replies, errors }: Answers<unknown>): void {
    if (replies.some((reply) => reply !== undefined)) {
      if (2 * permits > this.#permits)
        this.#permits = Math.min(2 * this.#permits, MAX_PERMITS_PER_CALL);
    } else if (errors.some((e) => e instanceof CallTimeoutError || e instanceof LateCallError)) {
      this.#permits = Math.max(1, Math.min(this.#permits, Math.ceil(permits / 2)));
    }
  }
}

export function permitsOf(id: string): number {
  return parseTicketId(id)?.permits ?? 1;
}
