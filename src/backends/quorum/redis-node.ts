import { Batcher, type Item, type Operation, type Owner } from '../../core/batcher.js';
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

/** The part of a script call that belongs to one semaphore. */
interface NodeCall<Reply> extends Item<Reply | Error>, Owner {
  readonly permits: number;
  /** How long the caller waits. */
  readonly timeoutMs: number;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly parse: ParseLine<Reply>;
}

type Calls<Reply> = Batcher<NodeCall<Reply>, NodeCall<Reply>, Reply | Error>;

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
  readonly #takes: Calls<port.HoldReply>;
  readonly #keeps: Calls<port.HoldReply>;
  readonly #drops: Calls<port.DropReply>;

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

  hold(call: port.HoldCall): Promise<port.HoldReply> {
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
    return this.#send(calls, call, requests, args, parseHold(requests.length));
  }

  drop(call: port.DropCall): Promise<port.DropReply> {
    const { origin, tickets } = call;
    const args = [origin === undefined ? '' : `${origin.held ? '=' : '-'}${origin.set}`];
    for (const { id, attempt } of tickets) {
      args.push(id, attempt === Infinity ? '' : String(attempt));
    }
    return this.#send(this.#drops, call, tickets, args, parseDrop(tickets.length));
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

  isRetryable(error: unknown): boolean {
    return this.#backend.isRetryable(error);
  }

  findHazard(key: SemaphoreKey): Promise<string | undefined> {
    return this.#backend.findHazard(key);
  }

  #send<Reply>(
    calls: Calls<Reply>,
    { key, timeoutMs = MAX_NODE_TIMEOUT_MS }: port.HoldCall | port.DropCall,
    tickets: readonly { readonly id: string }[],
    args: readonly string[],
    parse: ParseLine<Reply>,
  ): Promise<Reply> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    return new Promise((resolve, reject) => {
      const call: NodeCall<Reply> = {
        permits: tickets.reduce((sum, { id }) => sum + permitsOf(id), 0),
        timeoutMs,
        keys: quorumKeysOf(key),
        args,
        parse,
        /** A call that was never sent cannot run late. */
        joinCall: () => {
          const isWanted = deadline >= this.#clock.monotonic();
          if (!isWanted) reject(new CallTimeoutError(timeoutMs));
          return isWanted;
        },
        answer: (reply) => (reply instanceof Error ? reject(reply) : resolve(reply)),
        /** The caller has a separate time limit, and takes a late reply, too. */
        fail: (error) => void (error instanceof CallTimeoutError || reject(error)),
      };
      calls.add({ owner: call, items: [] }, call);
    });
  }

  /**
   * Items that are ready in one turn of the event loop travel in one call. A call without a reply
   * makes room for the next call when the first of its callers stops waiting.
   */
  #callsOf<Reply>(which: Script): Calls<Reply> {
    const operation: Operation<NodeCall<Reply>, NodeCall<Reply>, Reply | Error> = {
      name: which.name,
      mostIds: MOST_SHARED_PERMITS,
      weightOf: (calls) => calls.reduce((sum, { permits }) => sum + permits, 0),
      run: (shares) => this.#runFor(which, shares),
      timeoutOf: (shares) => Math.min(...shares.map(({ owner }) => owner.timeoutMs)),
      deliver: ({ owner }, reply, call) => owner.answer(reply, call),
    };
    const host = { clock: this.#clock, isRetryable: (error: unknown) => this.isRetryable(error) };
    return new Batcher(operation, host, Infinity);
  }

  async #runFor<Reply>(
    which: Script,
    shares: readonly { readonly owner: NodeCall<Reply> }[],
  ): Promise<readonly (Reply | Error)[]> {
    const keys = shares.flatMap(({ owner }) => owner.keys);
    const args = shares.flatMap(({ owner }) => [String(owner.args.length), ...owner.args]);
    const parsers = shares.map(({ owner }) => owner.parse);
    const read = (reply: unknown) => parseReplies(which.name, reply, parsers);
    const running = this.#run(which, keys, args, read);
    // Only a server that passes the check may grant tickets.
    const isTrusted = which !== holdScript || this.#check.passed;
    const done = isTrusted ? running : this.#check.confirm(running, ({ time }) => time, keys);
    return (await done).replies;
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

/** Reads the line of a semaphore; undefined if it is no line of the script. */
type ParseLine<Reply> = (line: string, time: number) => Reply | undefined;

/** For each semaphore its reply or its error; see `quorum-store.lua`. */
function parseReplies<Reply>(name: string, reply: unknown, parsers: readonly ParseLine<Reply>[]) {
  const [now = '', ...lines] = textOf(reply).split('\n');
  if (!TIME.test(now) || lines.length !== parsers.length) {
    throw new UnexpectedReplyError(name, reply);
  }
  const time = milliseconds(now);
  const replies = parsers.map((parse, i): Reply | Error => {
    const line = lines[i] ?? '';
    if (line === 'late') return new LateCallError(time);
    if (line.startsWith('!')) return new Error(line.slice(1));
    return parse(line, time) ?? new UnexpectedReplyError(name, reply);
  });
  return { time, replies };
}

function parseHold(requests: number): ParseLine<port.HoldReply> {
  return (line, time) => {
    const [other = '', free = '', verdicts = '', sets] = line.split('|');
    const holdings = verdicts.split(';').map((text) => {
      const [slots = '', token, attempt] = text.split(' ');
      return slots === '' ? undefined : holdingIn(slots, token, attempt);
    });
    if (sets === undefined || holdings.length !== requests) return undefined;
    const otherLimit = other === '' ? undefined : Number(other);
    return { time, free: slotsIn(free), holdings, otherLimit, sets: setsIn(sets) };
  };
}

function parseDrop(tickets: number): ParseLine<port.DropReply> {
  return (line, time) => {
    if (line.length !== tickets) return undefined;
    return { time, dropped: Array.from(line, (digit) => digit === '1') };
  };
}

/** `cursor`: the start of the next page; '' after the last page. */
function parseList(reply: unknown): port.ListReply & { readonly cursor: string } {
  const [now = '', cursor = '', lines] = textOf(reply).split('|');
  if (!TIME.test(now) || lines === undefined) throw new UnexpectedReplyError('quorum-list', reply);
  const tickets = list(lines).map((line): port.NodeTicket => {
    const [id = '', expiry = '', slots = '', token, attempt, granted = '', label = ''] =
      line.split(' ');
    const dates = { expiresAt: milliseconds(expiry), grantedAt: milliseconds(granted) };
    const holding = holdingIn(slots, token, attempt);
    return { id, ...holding, ...dates, label: decodeURIComponent(label) };
  });
  return { time: milliseconds(now), cursor, tickets };
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
