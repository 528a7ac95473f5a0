import { mapKeyOf } from '../map-key.js';
import { CallTimeoutError, withTimeout } from '../../time/call-timeout.js';
import { type Clock, type Instant, instant, randomBy, type Timer } from '../../time/clock.js';
import { ServerClock } from '../../time/server-clock.js';
import { parseTicketId } from '../ticket-id.js';
import type * as port from './quorum-node.js';
import { LateCallError } from './quorum-node.js';
import { nodesWhere } from './votes.js';

/** The shortest and the longest time that a node has for a call. */
const MIN_NODE_TIMEOUT_MS = 50;
export const MAX_NODE_TIMEOUT_MS = 1000;

/**
 * How long a node may take for a call about tickets with this ttl, in milliseconds. `calls`: how
 * many of them fit into the ttl.
 */
export function nodeTimeout(ttl: number, calls = 10): number {
  return Math.min(Math.max(ttl / calls, MIN_NODE_TIMEOUT_MS), MAX_NODE_TIMEOUT_MS);
}

/** The first pause between two rollbacks; pauses double up to the longest time of a call. */
const FIRST_PAUSE_MS = 20;

/** How far the clocks of a node and of this process may run apart between two answers. */
const CLOCK_SLACK_MS = 10;

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

/** A ticket, or an attempt, for which the node has not confirmed a drop. */
interface FailedDrop extends Omit<port.DropCall, 'tickets'>, port.DropRequest {
  /** The monotonic time at which it has expired on the node. */
  readonly until: number;
}

type UntimedHold = Omit<port.HoldCall, keyof port.CallTiming>;

/** A node as this process knows it: its clock, whether it answers, and what it must drop. */
export class NodeLink {
  readonly node: port.QuorumNode;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  /** The oldest call since the last answer. */
  #unanswered: { readonly since: number; readonly timeoutMs: number } | undefined;
  /** A call has failed after its time was over, and no call was answered since. */
  #isFailing = false;
  #lastSent = -Infinity;
  /** By how much the node's clock is ahead of the monotonic clock, at most. */
  #ahead = -Infinity;
  /** By semaphore and id, in the order of the failures. */
  readonly #failed = new Map<string, FailedDrop>();
  #pauseMs = FIRST_PAUSE_MS;
  #timer: Timer | undefined;
  /** How long a ticket may live on the node if it does not answer. */
  #longestTtl = 0;

  constructor(node: port.QuorumNode, clock: Clock) {
    this.node = node;
    this.#clock = clock;
    this.#serverClock = new ServerClock(clock);
  }

  /**
   * A time that the node's clock will not have reached when a call that is sent now arrives; 0
   * until the first answer. The wall clock of this process does not count: after a step forward,
   * tokens would be ahead of the clocks of all nodes, and fall when a majority loses its data.
   */
  get time(): number {
    return Math.max(0, this.#clock.monotonic() + this.#ahead);
  }

  /** The node has not answered a call in time, whatever the client did with that call later. */
  get isSilent(): boolean {
    return this.#isFailing || this.#silence > 0;
  }

  /** How old the oldest overdue call is, in milliseconds; 0: no call is overdue. */
  get #silence(): number {
    const { since = Infinity, timeoutMs = 0 } = this.#unanswered ?? {};
    const silence = this.#clock.monotonic() - since;
    return silence > timeoutMs ? silence : 0;
  }

  /**
   * Sends a call, which may never settle. After the first answer of the node, a call carries the
   * time on the node's clock after which it must change nothing. A silent node gets one call at a
   * time, because further calls would only pile up.
   */
  async call<Reply extends port.NodeReply>(
    timeoutMs: number,
    send: (node: port.QuorumNode, timing: port.CallTiming) => Promise<Reply>,
  ): Promise<Reply> {
    const sent = instant(this.#clock);
    const silence = this.#silence;
    if (silence > 0 && sent.monotonic - this.#lastSent < timeoutMs) {
      throw new SilentNodeError(silence);
    }
    this.#unanswered ??= { since: sent.monotonic, timeoutMs };
    this.#lastSent = sent.monotonic;
    try {
      const notAfter = this.#serverClock.latestIn(timeoutMs);
      const reply = await send(this.node, { notAfter, timeoutMs });
      this.#answered(sent, reply.time, timeoutMs);
      return reply;
    } catch (error) {
      if (error instanceof LateCallError) this.#answered(sent, error.time, timeoutMs);
      else if (this.#clock.monotonic() - sent.monotonic > timeoutMs) this.#isFailing = true;
      else this.#unanswered = undefined;
      throw error;
    }
  }

  #answered(sent: Instant, time: number, timeoutMs: number): void {
    // The node is there: earlier calls that are still open were lost on their way.
    this.#unanswered = undefined;
    this.#isFailing = false;
    this.#serverClock.observe(sent, time);
    // The node refuses a call that arrives after its timeout, so no more time counts.
    const took = Math.min(this.#clock.monotonic() - sent.monotonic, timeoutMs);
    this.#ahead = time - sent.monotonic + took + CLOCK_SLACK_MS;
    this.#dropFailed();
  }

  hold(call: UntimedHold, timeoutMs: number): Promise<port.HoldReply> {
    this.#longestTtl = Math.max(this.#longestTtl, call.ttl);
    return this.call(timeoutMs, (node, timing) => node.hold({ ...call, ...timing }));
  }

  /**
   * Drops tickets on the node, again and again until the node confirms it or they have expired
   * there. The first call leaves at once: most nodes run calls in the order in which they were
   * sent. The next call leaves when a silent node answers.
   * @returns the reply to the first call
   */
  drop(
    call: port.DropCall,
    until: number = this.#clock.monotonic() + this.#longestTtl,
  ): Promise<port.DropReply> {
    const dropping = this.call(MAX_NODE_TIMEOUT_MS, (node) => node.drop(call));
    withTimeout(this.#clock, MAX_NODE_TIMEOUT_MS, dropping).then(
      () => (this.#pauseMs = FIRST_PAUSE_MS),
      () => this.#dropLater(call, until),
    );
    return dropping;
  }

  #dropLater({ key, origin, tickets }: port.DropCall, until: number): void {
    for (const { id, attempt } of tickets) {
      const ticket = `${id} ${mapKeyOf(key)}`;
      const latest = Math.max(this.#failed.get(ticket)?.attempt ?? 0, attempt);
      this.#failed.set(ticket, { key, origin, id, attempt: latest, until });
    }
    if (this.#timer !== undefined) return;
    const pauseMs = this.#pauseMs * (1 + randomBy(this.#clock));
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_NODE_TIMEOUT_MS);
    this.#timer = this.#clock.schedule(() => this.#dropFailed(), pauseMs, false);
  }

  /** Sends some of the failed drops again: the answer to these sends the next. */
  #dropFailed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    let sent = 0;
    for (const [ticket, { key, origin, id, attempt, until }] of this.#failed) {
      if (sent === MOST_RETRIES) return;
      this.#failed.delete(ticket);
      if (until <= this.#clock.monotonic()) continue;
      sent += 1;
      this.drop({ key, origin, tickets: [{ id, attempt }] }, until).catch(() => undefined);
    }
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

export interface Question<Reply extends port.NodeReply> {
  /** How long the caller waits for the nodes. */
  readonly timeoutMs: number;
  readonly ask: (link: NodeLink) => Promise<Reply>;
  /** Whether further answers can change nothing. `node`: the node that answered last. */
  readonly isDecided: (answers: Answers<Reply>, node: number) => boolean;
  /** Gets a reply that comes after the end of the round. */
  readonly onLate?: (node: number, reply: Reply) => void;
}

/**
 * Asks all nodes at once. Gives their answers when these decide, or when the time is over: a node
 * that hangs delays no caller. Never rejects.
 */
export function askAll<Reply extends port.NodeReply>(
  { links, clock }: { readonly links: readonly NodeLink[]; readonly clock: Clock },
  { timeoutMs, ask, isDecided, onLate }: Question<Reply>,
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
      for (const node of links.keys())
        if ((answers.pending >> node) & 1) answers.errors[node] = new CallTimeoutError(timeoutMs);
      end();
    };
    // After a stall of the event loop, timers run first. Replies that have arrived meanwhile must
    // be read before a node counts as silent.
    const timer = clock.schedule(() => void setImmediate(onTimeout), timeoutMs, false);
    links.forEach((link, node) => {
      const settle = (reply: Reply | undefined, error?: unknown): void => {
        if (isOver) return reply && onLate?.(node, reply);
        answers.replies[node] = reply;
        answers.errors[node] = error;
        answers.pending &= ~(1 << node);
        if (isDecided(answers, node) || answers.pending === 0) end();
      };
      // A node says in time that the call was late if its clock ran ahead: the process was idle for
      // long, or suspended. Its time is known now. After the end the call is not sent again: it
      // could run behind its rollback.
      const askAgain = (error: unknown): Promise<Reply> => {
        if (isOver || !(error instanceof LateCallError)) throw error;
        return ask(link);
      };
      const asked = ask(link).catch(askAgain);
      asked.then(settle, (error: unknown) => settle(undefined, error));
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
      if (permits > left || batches.at(-1)?.length === MAX_TICKETS_PER_CALL) {
        batches.push([]);
        left = this.#permits;
      }
      batches.at(-1)?.push(ticket);
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
