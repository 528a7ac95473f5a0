import type { SemaphoreKey } from '../backend.js';
import type {
  DropCall,
  DropReply,
  GrantingCall,
  KeepCall,
  KeepMode,
  KeepReply,
  ListReply,
  NodeReply,
  NodeTicket,
  QuorumNode,
  SetClaim,
  TakeCall,
  TakeReply,
} from './quorum-node.js';
import { LateCallError } from './quorum-node.js';
import { INSPECT_PAGE } from '../protocol.js';
import type { RedisConnection } from '../redis/connection.js';
import { quorumKeysOf } from '../redis/keys.js';
import { parseDrop, parseKeep, parseList, parseTake } from './redis-replies.js';
import { RedisBackend } from '../redis/redis-backend.js';
import { runScript, runText } from '../redis/script-runner.js';
import type { Script } from '../redis/compose-script.js';
import { ServerCheck } from '../redis/server-check.js';
import {
  quorumDropScript,
  quorumKeepScript,
  quorumListScript,
  quorumTakeScript,
} from '../redis/scripts.js';

const LETTERS: Record<KeepMode, string> = { extend: 'e', assign: 'a', restore: 'r' };
const SIGNS: Record<SetClaim['record'], string> = {
  'unless-strangers': '+',
  instead: '!',
  never: '?',
};

/** One independent master, over a client of either library. */
export class RedisQuorumNode implements QuorumNode {
  readonly name: string | undefined;
  readonly #connection: RedisConnection;
  /** Knows which errors pass by themselves, and what endangers keys. */
  readonly #backend: RedisBackend;
  readonly #check: ServerCheck;
  /** Scripts that have run there. */
  readonly #known = new Set<Script>();

  constructor(connection: RedisConnection, name?: string) {
    this.name = name;
    this.#connection = connection;
    this.#backend = new RedisBackend(connection);
    this.#check = new ServerCheck(connection);
  }

  async take(call: TakeCall): Promise<TakeReply> {
    const args = [...head(call), encodeURIComponent(call.label)];
    for (const { id, attempt, permits, token, aim } of call.requests) {
      args.push(id, String(attempt), String(permits), token.toFixed(0), aim.join());
    }
    const take = this.#run(quorumTakeScript, call.key, args);
    return this.#checked(call.key, take, (reply) => parseTake(reply, call.requests.length));
  }

  async keep(call: KeepCall): Promise<KeepReply> {
    const args = head(call);
    for (const { id, mode, attempt, slots, token, label } of call.requests) {
      args.push(id, LETTERS[mode], String(attempt), slots.join(), token.toFixed(0));
      args.push(encodeURIComponent(label));
    }
    const keep = this.#run(quorumKeepScript, call.key, args);
    return this.#checked(call.key, keep, (reply) => parseKeep(reply, call.requests.length));
  }

  async drop(call: DropCall): Promise<DropReply> {
    const { origin } = call;
    const args = [origin === undefined ? '' : `${origin.held ? '' : '-'}${origin.set}`];
    for (const { id, attempt } of call.tickets) {
      args.push(id, attempt === Infinity ? '' : String(attempt));
    }
    const reply = await this.#run(quorumDropScript, call.key, args);
    return parseDrop(reply, call.tickets.length);
  }

  async list(key: SemaphoreKey): Promise<ListReply> {
    const tickets = new Map<string, NodeTicket>();
    let [cursor, time] = ['0', 0];
    while (cursor !== '') {
      const page = parseList(
        await this.#run(quorumListScript, key, [cursor, String(INSPECT_PAGE)]),
      );
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

  /** A call that may grant, on a server that must be fit for it. */
  #checked<R extends NodeReply>(
    key: SemaphoreKey,
    call: Promise<unknown>,
    parse: (reply: unknown) => R,
  ): Promise<R> {
    const parsed = call.then((reply) => parse(inTime(reply)));
    if (this.#check.passed) return parsed;
    return this.#check.confirm(parsed, ({ time }) => time, quorumKeysOf(key));
  }

  /**
   * The first call of a script carries its text. One that is sent again, for the node does not know the script, runs behind
   * what was sent meanwhile: a release that two of three nodes have confirmed behind the take of the next holder, which the third
   * then refuses, and where one of the two hangs, the next holder waits for it.
   */
  async #run(script: Script, key: SemaphoreKey, args: readonly string[]): Promise<unknown> {
    const keys = quorumKeysOf(key);
    if (this.#known.has(script)) return runScript(this.#connection, script, keys, args);
    const reply = await runText(this.#connection, script, keys, args);
    this.#known.add(script);
    return reply;
  }
}

function head({ limit, ttl, notAfter, claim }: GrantingCall): string[] {
  const until = notAfter === undefined ? '' : (notAfter * 1000).toFixed(0);
  const claimed = claim === undefined ? '' : `${SIGNS[claim.record]}${claim.set}`;
  return [String(limit), String(ttl), until, claimed];
}

function inTime(reply: unknown): unknown {
  if (typeof reply === 'string' && reply.endsWith('|late')) {
    throw new LateCallError(Number(reply.slice(0, -'|late'.length)) / 1000);
  }
  return reply;
}
