import { systemClock } from '../../time/clock.js';
import type { SemaphoreKey } from '../backend.js';
import { microseconds } from '../gcra.js';
import { placeOf } from '../place-of.js';
import type { Script } from '../redis/compose-script.js';
import type { RedisConnection } from '../redis/connection.js';
import { quorumKeysOf } from '../redis/keys.js';
import { RedisBackend } from '../redis/redis-backend.js';
import { runScript } from '../redis/script-runner.js';
import { ServerCheck } from '../redis/server-check.js';
import { parseTicketId } from '../ticket-id.js';
import type { LaneItem } from './node-lane.js';
import { NodeLane } from './node-lane.js';
import type {
  DropCall,
  DropReply,
  GrantingCall,
  KeepCall,
  KeepMode,
  KeepReply,
  ListReply,
  NodeTicket,
  QuorumNode,
  SetClaim,
  TakeCall,
  TakeReply,
} from './quorum-node.js';
import { INSPECT_PAGE } from '../protocol.js';
import { MAX_NODE_TIMEOUT_MS } from './node-timeout.js';
import type { ParseLine } from './redis-replies.js';
import { parseDrop, parseHold, parseList, parseReplies } from './redis-replies.js';
import { quorumDropScript, quorumHoldScript, quorumListScript } from './scripts.js';

const MODE_LETTERS: Record<KeepMode, string> = { extend: 'e', assign: 'a', restore: 'r' };
const CLAIM_SIGNS: Record<SetClaim['otherSet'], string> = { refuse: '!', warn: '?' };

/** What one semaphore has in a call of a script. */
interface ScriptPart<Reply> extends LaneItem {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly parse: ParseLine<Reply>;
}

type Lane<Reply> = NodeLane<ScriptPart<Reply>, Reply>;

/** One independent master, over a client of either library. */
export class RedisQuorumNode implements QuorumNode {
  readonly name: string | undefined;
  readonly #connection: RedisConnection;
  /** Knows which errors pass by themselves, and what endangers keys. */
  readonly #backend: RedisBackend;
  readonly #check: ServerCheck;
  /** Scripts that have run there. */
  readonly #known = new Set<Script>();
  readonly #takes: Lane<TakeReply>;
  readonly #keeps: Lane<KeepReply>;
  readonly #drops: Lane<DropReply>;

  constructor(connection: RedisConnection, name?: string) {
    this.name = name;
    this.#connection = connection;
    this.#backend = new RedisBackend(connection);
    this.#check = new ServerCheck(connection);
    this.#takes = this.#lane((parts) => this.#hold(parts));
    this.#keeps = this.#lane((parts) => this.#hold(parts));
    this.#drops = this.#lane((parts) => this.#send(quorumDropScript, parts));
  }

  take(call: TakeCall): Promise<TakeReply> {
    const label = encodeURIComponent(call.label);
    const requests = call.requests.map(({ id, attempt, permits, token, aim }) => {
      return [id, 't', String(attempt), String(permits), aim.join(), token.toFixed(0), label];
    });
    return this.#takes.add(holdPart(call, requests));
  }

  keep(call: KeepCall): Promise<KeepReply> {
    const requests = call.requests.map(({ id, mode, attempt, slots, token, label }) => {
      const wanted = [String(slots.length), slots.join(), token.toFixed(0)];
      return [id, MODE_LETTERS[mode], String(attempt), ...wanted, encodeURIComponent(label)];
    });
    return this.#keeps.add(holdPart(call, requests));
  }

  drop({ key, origin, tickets, timeoutMs }: DropCall): Promise<DropReply> {
    const from = origin === undefined ? '' : `${origin.held ? '=' : '-'}${origin.set}`;
    const dropped = tickets.flatMap(({ id, attempt }) => [
      id,
      attempt === Infinity ? '' : String(attempt),
    ]);
    const item = laneItem(key, tickets, timeoutMs);
    const keys = quorumKeysOf(key);
    return this.#drops.add({
      ...item,
      keys,
      args: [from, ...dropped],
      parse: parseDrop(tickets.length),
    });
  }

  async list(key: SemaphoreKey): Promise<ListReply> {
    const keys = quorumKeysOf(key);
    const tickets = new Map<string, NodeTicket>();
    let [cursor, time] = ['0', 0];
    while (cursor !== '') {
      const args = [cursor, String(INSPECT_PAGE)];
      const page = await this.#run(quorumListScript, keys, args, parseList);
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

  #lane<Reply>(send: (parts: readonly ScriptPart<Reply>[]) => Promise<Sent<Reply>>): Lane<Reply> {
    return new NodeLane({
      clock: systemClock,
      send: async (parts) => (await send(parts)).replies,
      isRetryable: (error) => this.isRetryable(error),
    });
  }

  /** A call that may grant, on a server that must be fit for it. */
  #hold<Reply>(parts: readonly ScriptPart<Reply>[]): Promise<Sent<Reply>> {
    const sent = this.#send(quorumHoldScript, parts);
    if (this.#check.passed) return sent;
    return this.#check.confirm(sent, ({ time }) => time, parts[0]?.keys ?? []);
  }

  #send<Reply>(script: Script, parts: readonly ScriptPart<Reply>[]): Promise<Sent<Reply>> {
    const keys = parts.flatMap((part) => part.keys);
    const args = parts.flatMap((part) => [String(part.args.length), ...part.args]);
    const parsers = parts.map(({ parse }) => parse);
    return this.#run(script, keys, args, (reply) => parseReplies(script.name, reply, parsers));
  }

  /**
   * The first call of a script carries its text. One that is sent again, because the node does not
   * know the script, runs behind what was sent meanwhile: a release that two of three nodes have
   * confirmed behind the take of the next holder, which the third then refuses, and where one of
   * the two hangs, the next holder waits for it.
   */
  #run<R>(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    read: (reply: unknown) => R,
  ): Promise<R> {
    const isNew = !this.#known.has(script);
    const noted = (reply: unknown): R => {
      this.#known.add(script);
      return read(reply);
    };
    return runScript(this.#connection, script, keys, args, noted, isNew);
  }
}

type Sent<Reply> = ReturnType<typeof parseReplies<Reply>>;

function holdPart(
  call: TakeCall | KeepCall,
  requests: readonly (readonly string[])[],
): ScriptPart<TakeReply> {
  const { key, claim, timeoutMs } = call;
  return {
    ...laneItem(key, call.requests, timeoutMs),
    keys: quorumKeysOf(key),
    args: [...termsOf(call), ...requests.flat()],
    parse: parseHold(requests.length, claim !== undefined),
  };
}

/** See `quorum-hold.lua`. */
function termsOf({ limit, ttl, notAfter, claim }: GrantingCall): string[] {
  const latest = notAfter === undefined ? '' : String(microseconds(notAfter));
  const claimed = claim === undefined ? '' : `${CLAIM_SIGNS[claim.otherSet]}${claim.set}`;
  return [String(limit), String(microseconds(ttl)), latest, claimed];
}

function laneItem(
  key: SemaphoreKey,
  tickets: readonly { readonly id: string }[],
  timeoutMs: number = MAX_NODE_TIMEOUT_MS,
): LaneItem {
  const permits = tickets.reduce((sum, { id }) => sum + (parseTicketId(id)?.permits ?? 1), 0);
  return { name: placeOf(key), permits, timeoutMs };
}
