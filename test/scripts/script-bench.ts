import { expect } from 'chai';
import { Redis } from 'ioredis';

import type {
  AcquireReply,
  AcquireVerdict,
  AdoptReply,
  ExtendReply,
  InspectReply,
  ReleaseReply,
  RevokeReply,
  SetLimitReply,
  TicketRequest,
} from '../../src/backend.js';
import { WAITER_LEASE } from '../../src/backend.js';
import { ioredisConnection } from '../../src/redis/adapters/ioredis.js';
import type { RedisConnection } from '../../src/redis/connection.js';
import { RedisBackend } from '../../src/redis/redis-backend.js';
import { adoptedId, parseTicketId } from '../../src/ticket-id.js';
import { stopwatch, wallTime } from '../support/real-time.js';
import type { TestServer } from '../support/redis-server.js';

export interface CallOptions {
  readonly client?: string;
  readonly limit?: number;
  readonly ttl?: number;
  readonly label?: string;
  readonly notAfter?: number;
  readonly fencingTokens?: readonly number[];
}

export interface BenchOptions {
  readonly limit?: number;
  readonly ttl?: number;
  readonly name?: string;
  /** Where the bench's own time starts, in milliseconds. Default: now. */
  readonly start?: number;
  /** Leaves the time to the server's TIME: it then cannot be moved. */
  readonly realTime?: boolean;
  /** Runs the scripts as if no call fitted their shortcuts. */
  readonly withoutShortcuts?: boolean;
}

export type Granted = Extract<AcquireVerdict, { kind: 'granted' }>;

/** How much longer than anything else of a semaphore its `meta` stays, in milliseconds. */
const DAY = 86_400_000;

/** The start of the condition of a shortcut, in the text of a script. */
const SHORTCUT = 'local fits = ';

let semaphores = 0;

/**
 * One semaphore of its own on a real server, driven call by call, and what stands in Redis for it. Its time
 * stands still until it is told to pass.
 */
export class ScriptBench {
  readonly redis: Redis;
  readonly backend: RedisBackend;
  readonly name: string;
  readonly prefix = 'redsem';
  /** Every reply that the server gave to a script. */
  readonly replies: string[] = [];
  limit: number;
  readonly ttl: number;
  readonly #lived = stopwatch();
  readonly #realTime: boolean;
  /** The longest life that any call asked for, or that a waiter has. */
  #longest = WAITER_LEASE;
  /** Milliseconds; unused with `realTime`. */
  #time: number;

  constructor(server: TestServer, options: BenchOptions = {}) {
    semaphores += 1;
    this.redis = new Redis(server.port, '127.0.0.1');
    // The server stops before its clients do.
    this.redis.on('error', () => {});
    this.name = options.name ?? `bench-${semaphores}`;
    this.limit = options.limit ?? 3;
    this.ttl = options.ttl ?? 30_000;
    this.#time = options.start ?? wallTime();
    this.#realTime = options.realTime ?? false;
    const connection = this.#connection();
    const long = options.withoutShortcuts ?? false;
    this.backend = new RedisBackend(long ? withoutShortcuts(connection) : connection);
    benches.add(this);
  }

  acquire(
    asked: string | readonly (string | TicketRequest)[],
    options: CallOptions = {},
  ): Promise<AcquireReply> {
    const list = typeof asked === 'string' ? [asked] : asked;
    const requests = list.map((one) => (typeof one === 'string' ? request(one) : one));
    const { ttl, label = 'label', notAfter } = { ttl: this.ttl, ...options };
    const call = this.#call(requests[0]?.id, options);
    return this.backend.acquire({ ...call, ttl: this.#noted(ttl), label, notAfter, requests });
  }

  /** Acquires one ticket that must be granted. */
  async take(id: string, options: CallOptions = {}): Promise<Granted> {
    return granted((await this.acquire(id, options)).verdicts[0]);
  }

  extend(held: string | readonly string[], options: CallOptions = {}): Promise<ExtendReply> {
    const list = typeof held === 'string' ? [held] : held;
    const ttl = this.#noted(options.ttl ?? this.ttl);
    const { fencingTokens } = options;
    const call = { ...this.#call(list[0], options), ttl, ids: list, fencingTokens };
    return this.backend.extend(call);
  }

  release(gone: string | readonly string[], options: CallOptions = {}): Promise<ReleaseReply> {
    const list = typeof gone === 'string' ? [gone] : gone;
    return this.backend.release({ ...this.#call(list[0], options), ids: list });
  }

  setLimit(newLimit: number, options: CallOptions = {}): Promise<SetLimitReply> {
    const { notAfter } = options;
    return this.backend.setLimit({ ...this.#call(undefined, options), newLimit, notAfter });
  }

  /** `own`: the start of its new id, as `b.1`. */
  adopt(id: string, own: string, options: CallOptions = {}): Promise<AdoptReply> {
    const { ttl, label = 'adopter', notAfter } = { ttl: this.ttl, ...options };
    const call = { ...this.#call(own, options), ttl: this.#noted(ttl), label, id, notAfter };
    return this.backend.adopt({ ...call, newId: adoptedId(own, id) });
  }

  revoke(id: string, options: CallOptions = {}): Promise<RevokeReply> {
    return this.backend.revoke({ ...this.#call(undefined, options), id });
  }

  inspect(): Promise<InspectReply> {
    const { prefix, name, limit } = this;
    return this.backend.inspect({ key: { prefix, name }, limit });
  }

  keyOf(part: string): string {
    return `${this.prefix}:{${this.name}}:${part}`;
  }

  /** The keys that stand in Redis for this semaphore, by their last part. */
  async parts(): Promise<string[]> {
    const start = this.keyOf('');
    const keys = await this.redis.keys('*');
    return keys
      .flatMap((key) => (key.startsWith(start) ? [key.slice(start.length)] : []))
      .toSorted();
  }

  /** Moves the time on, or back. */
  pass(milliseconds: number): void {
    if (this.#realTime) throw new Error("the server's own time cannot be moved");
    this.#time += milliseconds;
  }

  /** Server time in microseconds. */
  async now(): Promise<number> {
    if (!this.#realTime) return Math.round(this.#time * 1000);
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1e6 + Number(micros);
  }

  /** Milliseconds until the ticket expires, undefined when there is none. */
  async lifeOf(id: string): Promise<number | undefined> {
    const score = await this.redis.zscore(this.keyOf('tickets'), id);
    return score === null ? undefined : (Number(score) - (await this.now())) / 1000;
  }

  /** Ends the lives of tickets now, which no call has noticed yet. */
  async expire(...tickets: string[]): Promise<void> {
    await this.extend(tickets, { ttl: 1 });
    this.pass(1);
  }

  /** Ids in the queue, in their order. */
  queue(): Promise<string[]> {
    return this.redis.zrange(this.keyOf('queue'), 0, -1);
  }

  /** All that stands in Redis for this semaphore, expiry of keys aside. */
  async state(): Promise<Record<string, unknown>> {
    const state: Record<string, unknown> = {};
    for (const part of await this.parts()) {
      const key = this.keyOf(part);
      const type = await this.redis.type(key);
      if (type === 'zset') state[part] = await this.redis.zrange(key, 0, -1, 'WITHSCORES');
      else state[part] = await this.redis.hgetall(key);
    }
    return state;
  }

  /** Names of the fields of `meta`. */
  async fields(): Promise<string[]> {
    return (await this.redis.hkeys(this.keyOf('meta'))).toSorted();
  }

  /** Whether any key or field has something of this client. */
  async remembers(client: string): Promise<boolean> {
    return JSON.stringify(await this.state()).includes(`${client}.`);
  }

  /**
   * No key is gone before the last live ticket's end, `meta` not within a day after it; and none stays for much
   * longer than the longest ticket may.
   */
  async expectSafeExpiry(what: string): Promise<void> {
    const last = await this.redis.zrange(this.keyOf('tickets'), -1, -1, 'WITHSCORES');
    for (const part of await this.parts()) {
      const life = await this.redis.pttl(this.keyOf(part));
      const most = 2 * this.#longest + 10_000 + (part === 'meta' ? DAY : 0);
      expect(life, `TTL of ${part} after ${what}`).to.be.within(1, most);
      const needed = ['tickets', 'free', 'meta'].includes(part);
      if (!needed || last[1] === undefined) continue;
      const behind = part === 'meta' ? DAY : 0;
      // Keys expire by the server's real time, which goes on while the bench's stands still.
      const slack = this.#realTime ? 0 : this.#lived();
      const left = (Number(last[1]) - (await this.now())) / 1000 - slack + behind;
      expect(life, `TTL of ${part} after ${what}`).to.be.at.least(left);
    }
  }

  #call(firstId: string | undefined, options: CallOptions) {
    const { prefix, name } = this;
    const client = options.client ?? parseTicketId(firstId ?? '')?.client ?? 'nobody';
    return { key: { prefix, name }, limit: options.limit ?? this.limit, client };
  }

  #noted(ttl: number): number {
    this.#longest = Math.max(this.#longest, ttl);
    return ttl;
  }

  #connection(): RedisConnection {
    const real = ioredisConnection(this.redis);
    const noted = (reply: unknown): unknown => {
      this.replies.push(String(reply));
      return reply;
    };
    const connection: RedisConnection = {
      runBySha: async (...call) => noted(await real.runBySha(...call)),
      runByText: async (...call) => noted(await real.runByText(...call)),
      serverClock: this.#realTime ? undefined : () => this.#time,
    };
    const subscribe = real.subscribe?.bind(real);
    if (subscribe !== undefined) connection.subscribe = subscribe;
    return connection;
  }
}

/** Each script goes by its text, in which the condition of a shortcut is never true. */
function withoutShortcuts(connection: RedisConnection): RedisConnection {
  return {
    ...connection,
    runBySha: () => Promise.reject(new Error('NOSCRIPT by its text alone')),
    runByText: (text, ...rest) =>
      connection.runByText(text.replace(SHORTCUT, '$&false and '), ...rest),
  };
}

const benches = new Set<ScriptBench>();

/** Ends the connections of all benches. */
export function closeBenches(): void {
  for (const { redis } of benches) redis.disconnect();
  benches.clear();
}

/** A request that waits, or with `how` one that only tries, or one that was in the queue before. */
export function request(id: string, how: 'wait' | 'try' | number = 'wait'): TicketRequest {
  const permits = parseTicketId(id)?.permits ?? 1;
  const arrival = typeof how === 'number' ? how : undefined;
  return { id, permits, wait: how !== 'try', arrival };
}

export function granted(verdict: AcquireVerdict | undefined): Granted {
  if (verdict?.kind !== 'granted')
    throw new Error(`expected a grant, got ${JSON.stringify(verdict)}`);
  return verdict;
}

export function arrivalOf(verdict: AcquireVerdict | undefined): number {
  if (verdict?.kind !== 'queued' || verdict.arrival === undefined)
    throw new Error(`expected a place, got ${JSON.stringify(verdict)}`);
  return verdict.arrival;
}

export function kinds(reply: AcquireReply): string[] {
  return reply.verdicts.map(({ kind }) => kind);
}

/** `client.1` to `client.count`. */
export function ids(client: string, count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, i) => `${client}.${from + i}`);
}
