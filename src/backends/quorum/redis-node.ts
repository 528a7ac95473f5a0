import { Batcher, type Item, type Owner } from '../../core/batcher.js';
import { CallTimeoutError } from '../../time/call-timeout.js';
import { type Clock, systemClock } from '../../time/clock.js';
import type { SemaphoreKey } from '../backend.js';
import { microseconds } from '../gcra.js';
import { INSPECT_PAGE } from '../protocol.js';
import { type Script, script } from '../redis/compose-script.js';
import type { RedisConnection } from '../redis/connection.js';
import { quorumKeysOf } from '../redis/keys.js';
import { RedisBackend } from '../redis/redis-backend.js';
import { runScript } from '../redis/script-runner.js';
import { ServerCheck } from '../redis/server-check.js';
import { list, milliseconds, TIME, textOf, UnexpectedReplyError } from '../redis/wire-text.js';
import { MAX_NODE_TIMEOUT_MS, permitsOf } from './asking.js';
import type * as port from './quorum-node.js';
import { LateCallError } from './quorum-node.js';

const holdScript = script('quorum-hold');
const dropScript = script('quorum-drop');
const listScript = script('quorum-list');

/**
 * Most permits of several semaphores in one call: a node works on them for about a millisecond, and
 * does nothing else meanwhile.
 */
const MOST_SHARED_PERMITS = 100;

/** What a node replies about one semaphore, and when. */
interface Line {
  readonly text: string;
  readonly time: number;
}

/** The part of a script call that belongs to one semaphore. */
interface NodeCall extends Item<Line>, Owner {
  readonly permits: number;
  /** How long the caller waits. */
  readonly timeoutMs: number;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

type Calls = Batcher<NodeCall, NodeCall, Line>;

/** An independent master, over a client of either library. */
export class RedisQuorumNode implements port.QuorumNode {
  readonly name: string | undefined;
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  /** Knows which errors a retry can overcome, and which settings endanger keys. */
  readonly #backend: RedisBackend;
  readonly #check: ServerCheck;
  /** The scripts that have run on the node. */
  readonly #known = new Set<Script>();
  /** Apart from renewals, which may run on a server without memory for new tickets. */
  readonly #takes: Calls;
  readonly #keeps: Calls;
  readonly #drops: Calls;
  readonly isRetryable = (error: unknown): boolean => this.#backend.isRetryable(error);

  constructor(connection: RedisConnection, name?: string, clock: Clock = systemClock) {
    this.name = name;
    this.#connection = connection;
    this.#clock = clock;
    this.#backend = new RedisBackend(connection);
    this.#check = new ServerCheck(connection);
    this.#takes = this.#callsOf(holdScript);
    this.#keeps = this.#callsOf(holdScript);
    this.#drops = this.#callsOf(dropScript);
  }

  async hold(call: port.HoldCall): Promise<port.HoldReply> {
    const { limit, ttl, notAfter, claim, requests } = call;
    const latest = notAfter === undefined ? '' : String(microseconds(notAfter));
    const sign = claim?.otherSet === 'warn' ? '?' : '!';
    const set = claim === undefined ? '' : `${sign}${claim.set}`;
    const args = [String(limit), String(microseconds(ttl)), latest, set];
    for (const { id, mode, attempt, permits, slots, token, label } of requests) {
      const wanted = [String(permits), slots.join(), token.toFixed(0)];
      args.push(id, mode.charAt(0), String(attempt), ...wanted, encodeURIComponent(label));
    }
    const calls = requests[0]?.mode === 'take' ? this.#takes : this.#keeps;
    const { text, time } = await this.#send(calls, call, requests, args);
    const [other = '', free = '', verdicts = '', sets] = text.split('|');
    const holdings = verdicts.split(';').map((verdict) => {
      const [held = '', ...numbers] = verdict.split(' ');
      return held === '' ? undefined : holdingIn(held, ...numbers);
    });
    if (sets === undefined || holdings.length !== requests.length) {
      throw new UnexpectedReplyError(holdScript.name, text);
    }
    const otherLimit = other === '' ? undefined : Number(other);
    return { time, free: slotsIn(free), holdings, otherLimit, sets: setsIn(sets) };
  }

  async drop(call: port.DropCall): Promise<port.DropReply> {
    const { origin, tickets } = call;
    const args = [origin === undefined ? '' : `${origin.held ? '=' : '-'}${origin.set}`];
    for (const { id, attempt } of tickets) {
      args.push(id, attempt === Infinity ? '' : String(attempt));
    }
    const { text, time } = await this.#send(this.#drops, call, tickets, args);
    if (text.length !== tickets.length) throw new UnexpectedReplyError(dropScript.name, text);
    return { time, dropped: Array.from(text, (digit) => digit === '1') };
  }

  async list(key: SemaphoreKey): Promise<port.ListReply> {
    const keys = quorumKeysOf(key);
    const tickets = new Map<string, port.NodeTicket>();
    let [cursor, time] = ['0', 0];
    while (cursor !== '') {
      const args = [cursor, String(INSPECT_PAGE)];
      const page = await this.#run(listScript, keys, args, parseList);
      for (const ticket of page.tickets) tickets.set(ticket.id, ticket);
      ({ cursor, time } = page);
    }
    return { time, tickets: [...tickets.values()] };
  }

  findHazard(key: SemaphoreKey): Promise<string | undefined> {
    return this.#backend.findHazard(key);
  }

  async #send(
    calls: Calls,
    { key, timeoutMs = MAX_NODE_TIMEOUT_MS }: port.HoldCall | port.DropCall,
    tickets: readonly { readonly id: string }[],
    args: readonly string[],
  ): Promise<Line> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    const line = await new Promise<Line>((resolve, reject) => {
      const call: NodeCall = {
        permits: tickets.reduce((sum, { id }) => sum + permitsOf(id), 0),
        timeoutMs,
        keys: quorumKeysOf(key),
        args,
        /** A call that was never sent cannot run late. */
        joinCall: () => {
          const isWanted = deadline >= this.#clock.monotonic();
          if (!isWanted) reject(new CallTimeoutError(timeoutMs));
          return isWanted;
        },
        answer: resolve,
        /** The caller has a separate time limit, and takes a late reply, too. */
        fail: (error) => void (error instanceof CallTimeoutError || reject(error)),
      };
      calls.add({ owner: call, items: [] }, call);
    });
    if (line.text === 'late') throw new LateCallError(line.time);
    if (line.text.startsWith('!')) throw new Error(line.text.slice(1));
    return line;
  }

  /**
   * Items that are ready in one turn of the event loop travel in one call. A call without a reply
   * makes room for the next call when the first of its callers stops waiting.
   */
  #callsOf(which: Script): Calls {
    const host = { clock: this.#clock, isRetryable: this.isRetryable };
    return new Batcher<NodeCall, NodeCall, Line>(host, Infinity, {
      name: which.name,
      mostIds: MOST_SHARED_PERMITS,
      weightOf: (calls) => calls.reduce((sum, { permits }) => sum + permits, 0),
      run: (shares) => this.#runFor(which, shares),
      timeoutOf: (shares) => Math.min(...shares.map(({ owner }) => owner.timeoutMs)),
      deliver: ({ owner }, line, call) => owner.answer(line, call),
    });
  }

  #runFor(
    which: Script,
    shares: readonly { readonly owner: NodeCall }[],
  ): Promise<readonly Line[]> {
    const keys = shares.flatMap(({ owner }) => owner.keys);
    const args = shares.flatMap(({ owner }) => [String(owner.args.length), ...owner.args]);
    const read = (reply: unknown): Line[] => linesIn(which.name, reply, shares.length);
    const running = this.#run(which, keys, args, read);
    // Only a server that passes the check may grant tickets.
    if (which !== holdScript || this.#check.passed) return running;
    return this.#check.confirm(running, keys);
  }

  /**
   * The first call of a script carries its text. Without the text, a node that does not know the
   * script would get the call a second time, behind later calls. A release that two of three nodes
   * have confirmed would then run behind the take of the next holder: the third node would refuse
   * the take, and the next holder would wait if one of the two hangs.
   */
  #run<R>(
    which: Script,
    keys: readonly string[],
    args: readonly string[],
    read: (reply: unknown) => R,
  ): Promise<R> {
    const isNew = !this.#known.has(which);
    const noted = (reply: unknown): R => {
      this.#known.add(which);
      return read(reply);
    };
    return runScript(this.#connection, which, keys, args, noted, isNew);
  }
}

/** The line of each semaphore; see `quorum-store.lua`. */
function linesIn(name: string, reply: unknown, semaphores: number): Line[] {
  const [now = '', ...lines] = textOf(reply).split('\n');
  if (!TIME.test(now) || lines.length !== semaphores) throw new UnexpectedReplyError(name, reply);
  return lines.map((text) => ({ text, time: milliseconds(now) }));
}

/** `cursor`: the start of the next page; '' after the last page. */
function parseList(reply: unknown): port.ListReply & { readonly cursor: string } {
  const [now = '', cursor = '', lines] = textOf(reply).split('|');
  if (!TIME.test(now) || lines === undefined) throw new UnexpectedReplyError('quorum-list', reply);
  const time = milliseconds(now);
  const tickets = list(lines).map((line): port.NodeTicket => {
    const [id = '', expiry = '', slots = '', token, attempt, granted = '', label = ''] =
      line.split(' ');
    const expiresIn = milliseconds(expiry) - time;
    const heldFor = Math.max(0, time - milliseconds(granted));
    const holding = holdingIn(slots, token, attempt);
    return { id, ...holding, expiresIn, heldFor, label: decodeURIComponent(label) };
  });
  return { time, cursor, tickets };
}

function holdingIn(slots: string, token?: string, attempt?: string): port.Holding {
  return { slots: slotsIn(slots), token: Number(token), attempt: Number(attempt) };
}

function slotsIn(text: string): number[] {
  return list(text, ',').map(Number);
}

/** See `quorum-sets.lua`. */
function setsIn(text: string): port.RecordedSet[] {
  const sets = text.matchAll(/\d+ (=?)([^;]+);/g);
  return Array.from(sets, ([, mark, set = '']) => ({ set, proven: mark === '=' }));
}
