import { expect } from 'chai';
import { Redis } from 'ioredis';

import type * as port from '../../src/backends/backend.js';
import { WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { MemoryBackend } from '../../src/backends/memory/memory-backend.js';
import { ioredisConnection } from '../../src/backends/redis/adapters/ioredis.js';
import { RedisBackend } from '../../src/backends/redis/redis-backend.js';
import { adoptedId, parseTicketId } from '../../src/backends/ticket-id.js';
import { stopwatch, wallTime } from '../support/real-time.js';
import type { TestServer } from '../support/redis-server.js';
import { describeWithServer } from '../support/require-server.js';
import { only } from '../support/only.js';

export type CallOptions = Partial<
  Omit<port.AcquireCall, 'key' | 'requests'> &
    Pick<port.ExtendCall, 'fencingTokens'> &
    Pick<port.ReleaseCall, 'spent'>
>;

/** What both backends have. */
type FullBackend = Omit<MemoryBackend, 'clock' | 'size' | 'listNames'>;

/** The server's clock, in milliseconds: it does not move until a test moves it, forward or back. */
export interface Time {
  now: number;
}

export interface FixtureOptions {
  readonly limit?: number;
  readonly ttl?: number;
  readonly name?: string;
  readonly time?: Time;
}

/** How much longer than anything else of a semaphore its `info` stays, in milliseconds. */
export const DAY = 86_400_000;
const MINUTE = 60_000;

let semaphores = 0;

/** One semaphore on a backend, driven call by call through the port, whose time a test decides. */
export abstract class PortFixture {
  abstract readonly backend: FullBackend;
  key: port.SemaphoreKey;
  readonly time: Time;
  limit: number;
  readonly ttl: number;
  readonly #listens: { close(): Promise<void> }[] = [];
  /** The longest life that any call asked for, or that a waiter or a meter has. */
  longest = WAITER_LEASE_MS;

  constructor({ limit = 3, ttl = 30_000, name, time }: FixtureOptions) {
    semaphores += 1;
    this.key = { prefix: 'redsem', name: name ?? `fixture-${semaphores}` };
    this.limit = limit;
    this.ttl = ttl;
    this.time = time ?? { now: wallTime() };
  }

  /** All data of the semaphore is lost, as after FLUSHALL. */
  abstract loseAll(): Promise<void>;

  acquire(asked: string | readonly (string | port.TicketRequest)[], options: CallOptions = {}) {
    const list = typeof asked === 'string' ? [asked] : asked;
    const requests = list.map((one) => (typeof one === 'string' ? request(one) : one));
    const call = { ...this.#call(requests[0]?.id, options), requests };
    return only(this.backend.acquire([call]));
  }

  /** Acquires one ticket that must be granted. */
  async take(id: string, options: CallOptions = {}): Promise<port.GrantedVerdict> {
    return granted((await this.acquire(id, options)).verdicts[0]);
  }

  /** The verdict on a ticket that is acquired at once or not at all. */
  async try(id: string, options: CallOptions = {}): Promise<string | undefined> {
    return kinds(await this.acquire([request(id, 'try')], options))[0];
  }

  /** As one of several semaphores, all or none. */
  async acquireTogether(id: string, options: CallOptions = {}) {
    const call = { ...this.#call(id, options), requests: [request(id, 'try')] };
    return (await this.backend.acquireTogether([call]))?.[0];
  }

  extend(held: string | readonly string[], options: CallOptions = {}) {
    const list = typeof held === 'string' ? [held] : held;
    const call = { ...this.#call(list[0], options), ids: list };
    return only(this.backend.extend([{ ...call, fencingTokens: options.fencingTokens }]));
  }

  release(gone: string | readonly string[], options: CallOptions = {}) {
    const list = typeof gone === 'string' ? [gone] : gone;
    const { spent } = options;
    return only(this.backend.release([{ ...this.#call(list[0], options), ids: list, spent }]));
  }

  setLimit(newLimit: number | undefined, options: CallOptions = {}) {
    return this.backend.setLimit({ ...this.#call(undefined, options), newLimit });
  }

  setRate(newRate: port.Rate | undefined, options: CallOptions = {}) {
    return this.backend.setRate({ ...this.#call(undefined, options), newRate });
  }

  setBudget(budget: string, newRate: port.Rate | undefined, options: CallOptions = {}) {
    return this.backend.setRate({ ...this.#call(undefined, options), newRate, budget });
  }

  setGroupLimit(newGroupLimit: number | undefined, options: CallOptions = {}) {
    return this.backend.setGroupLimit({ ...this.#call(undefined, options), newGroupLimit });
  }

  addPermits(delta: number, id: string, options: CallOptions = {}) {
    return this.backend.addPermits({ ...this.#call(undefined, options), delta, id });
  }

  /** `own`: the start of its new id, as `b.1`. */
  adopt(id: string, own: string, options: CallOptions = {}) {
    const call = this.#call(own, { label: 'adopter', ...options });
    return this.backend.adopt({ ...call, newId: adoptedId(own, id) });
  }

  revoke(id: string, options: CallOptions = {}) {
    return this.backend.revoke({ ...this.#call(undefined, options), id });
  }

  inspect(): Promise<port.InspectReply> {
    return this.backend.inspect({ key: this.key, limit: this.limit });
  }

  async overview(): Promise<port.Overview> {
    const reply = await only(this.backend.overview([this.key]));
    if ('error' in reply) throw new Error(reply.error);
    return reply;
  }

  /** Holders, in the order of their grants. */
  async holders(): Promise<string[]> {
    const { holders } = await this.inspect();
    return holders.toSorted((a, b) => a.fencingToken - b.fencingToken).map(({ id }) => id);
  }

  async queue(): Promise<string[]> {
    return (await this.inspect()).waiters.map(({ id }) => id);
  }

  /** Milliseconds until the ticket expires, undefined when there is none. */
  async lifeOf(id: string): Promise<number | undefined> {
    return (await this.inspect()).holders.find((holder) => holder.id === id)?.expiresIn;
  }

  /** Moves the time on, or back. */
  pass(milliseconds: number): void {
    this.time.now += milliseconds;
  }

  /** Until `close`. */
  listen(client: string, listener: port.GrantListener): void {
    this.#listens.push(this.backend.listen(client, this.key.prefix, listener));
  }

  /** As `listen`, and resolves once messages arrive. */
  subscribe(client: string, reader: Omit<port.GrantListener, 'onHealth'>): Promise<void> {
    return new Promise((resolve) => {
      this.listen(client, { ...reader, onHealth: () => resolve() });
    });
  }

  /**
   * An open subscription looks for its server again and again, with timers in the process of other
   * tests.
   */
  async close(): Promise<void> {
    await Promise.all(this.#listens.splice(0).map((one) => one.close()));
  }

  /** What calls have in common; each takes of it what it needs. */
  #call(firstId: string | undefined, options: CallOptions) {
    const { ttl = this.ttl, limit = this.limit, label = 'label' } = options;
    const { notAfter, maxWaiting, rate, budgets, groupLimit } = options;
    const client = options.client ?? parseTicketId(firstId ?? '')?.client ?? 'nobody';
    this.longest = Math.max(this.longest, ttl);
    const terms = { maxWaiting, rate, budgets, groupLimit };
    return { key: this.key, limit, client, ttl, label, notAfter, ...terms };
  }
}

export class MemoryFixture extends PortFixture {
  backend: FullBackend;

  constructor(options: FixtureOptions = {}) {
    super(options);
    this.backend = this.#empty();
  }

  async loseAll(): Promise<void> {
    this.backend = this.#empty();
  }

  #empty(): MemoryBackend {
    const now = (): number => this.time.now;
    return new MemoryBackend({
      clock: { wall: now, monotonic: now, schedule: () => ({ cancel: () => {} }) },
    });
  }
}

/** On a real server, with a look at its keys. */
export class RedisFixture extends PortFixture {
  readonly redis: Redis;
  readonly backend: FullBackend;
  /** Every reply that the server gave to a script. */
  readonly replies: string[] = [];
  #lived = stopwatch();

  /** `realTime`: by the server's TIME, which cannot be moved. */
  constructor(server: TestServer, options: FixtureOptions = {}, realTime = false) {
    super(options);
    this.redis = new Redis(server.port, '127.0.0.1');
    // The server stops before its clients do.
    this.redis.on('error', () => {});
    const real = ioredisConnection(this.redis);
    const noted = (reply: unknown): unknown => {
      this.replies.push(String(reply));
      return reply;
    };
    const backend = new RedisBackend({
      ...real,
      runBySha: async (...call) => noted(await real.runBySha(...call)),
      runByText: async (...call) => noted(await real.runByText(...call)),
      serverClock: realTime ? undefined : () => this.time.now,
    });
    this.backend = backend as FullBackend;
    opened.add(this);
  }

  /** Goes over to another semaphore. */
  moveTo(name: string, limit: number): void {
    this.key = { ...this.key, name };
    this.limit = limit;
    this.#lived = stopwatch();
  }

  async loseAll(): Promise<void> {
    await this.lose(...Object.keys(await this.lives()));
  }

  /** Loses some of its keys: by hand, by eviction, by a restore of old data. */
  async lose(...parts: string[]): Promise<void> {
    if (parts.length > 0) await this.redis.del(...parts.map((part) => this.keyOf(part)));
  }

  keyOf(part: string): string {
    return `${this.key.prefix}:{${this.key.name}}:${part}`;
  }

  /** The life of each key in Redis for this semaphore, by its last part. */
  async lives(): Promise<Record<string, number>> {
    const start = this.keyOf('');
    const keys = await this.redis.keys(`${start}*`);
    const lifeOf = async (key: string): Promise<[string, number]> => {
      return [key.slice(start.length), await this.redis.pttl(key)];
    };
    const all = await Promise.all(keys.map(lifeOf));
    return Object.fromEntries(all.filter(([, life]) => life !== -2));
  }

  /** All that is stored in Redis for this semaphore, expiry of keys aside. */
  async state(): Promise<Record<string, unknown>> {
    const state: Record<string, unknown> = {};
    for (const part of Object.keys(await this.lives())) {
      const key = this.keyOf(part);
      const sorted = (await this.redis.type(key)) === 'zset';
      state[part] = await (sorted
        ? this.redis.zrange(key, 0, -1, 'WITHSCORES')
        : this.redis.hgetall(key));
    }
    return state;
  }

  /** How many commands scripts run in `call`. */
  async commandsIn(call: () => Promise<unknown>): Promise<number> {
    await this.redis.config('RESETSTAT');
    await call();
    const stats = await this.redis.info('commandstats');
    const counts = stats.matchAll(/cmdstat_(?!config|info|evalsha|ping)[\w|]+:calls=(\d+)/g);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /**
   * Nothing but `info` is left, which has nothing of any ticket, and the sign in `tickets` that
   * keeps that key; and what repeated calls must know, which expires.
   */
  async expectNothingLeft(): Promise<void> {
    const { info = {}, tickets = SIGN, ...rest } = await this.state();
    const lasting = Object.entries(rest).filter(([part]) => !BESIDE.test(part));
    expect({ tickets, ...Object.fromEntries(lasting) }).to.deep.equal({ tickets: SIGN });
    for (const field of Object.keys(info as object)) expect(field).not.to.match(/[.~]/);
  }

  /**
   * No key goes within a minute; `tickets` and `info` are not gone within half a day after the end
   * of the last ticket and meter, nor is `slots` within a day: a call that misses `slots` makes it
   * again. No key stays for much longer than a day after the longest may. `behind`: by how much the
   * time was set back, which the lives of keys do not know.
   */
  async expectSafeExpiry(what: string, behind = 0, state?: port.InspectReply): Promise<void> {
    const known = state ?? (await this.inspect());
    const lives = Object.entries(await this.lives());
    const longest = lastEnd(known) + DAY / 2 - behind;
    const leasts: Readonly<Record<string, number>> = {
      tickets: longest,
      info: longest,
      slots: Math.min(longest, DAY),
    };
    for (const [part, life] of lives) {
      const least = leasts[part] ?? MINUTE;
      // Keys expire by the server's real time, which does not stand still.
      const most = 2 * this.longest + 10_000 + DAY;
      expect(life, `life of ${part} after ${what}`).to.be.within(least - this.#lived(), most);
    }
    // A flow has a key while a request of it waits.
    const lasting = lives.filter(([part]) => !BESIDE.test(part));
    expect(lasting.length, `keys after ${what}`).to.be.at.most(20 + known.waiting);
  }
}

/** In how many milliseconds the last ticket expires and the last meter is full. */
export function lastEnd({ holders, rate, budgets = {} }: port.InspectReply): number {
  const interval = rate === undefined ? 0 : rate.per / rate.permits;
  const full = rate?.nextIn ? rate.nextIn + (rate.burst - 1) * interval : 0;
  const ends = Object.values(budgets).map(({ used, per, amount }) => (used * per) / amount);
  return Math.max(full, ...ends, ...holders.map(({ expiresIn }) => expiresIn));
}

/** Keys for what repeated calls must know. */
const BESIDE = /^(?:change|revoked):/;

/** What `tickets` holds when no ticket is left. */
const SIGN = ['.', '9000000000000000'];

const opened = new Set<RedisFixture>();

/** Ends the connections of all fixtures. */
export async function closeFixtures(): Promise<void> {
  const fixtures = [...opened];
  opened.clear();
  await Promise.all(fixtures.map((fixture) => fixture.close()));
  for (const { redis } of fixtures) redis.disconnect();
}

/** The same scenarios on both backends. */
export function describeOnBoth(
  title: string,
  body: (make: (options?: FixtureOptions) => PortFixture) => void,
): void {
  describe(`${title}, in memory`, () => body((options) => new MemoryFixture(options)));
  describeWithServer(`${title}, on Redis`, (server) => {
    after(closeFixtures);
    body((options) => new RedisFixture(server(), options));
  });
}

/** A request that waits, or with `how` only tries, or was in the queue before at this place. */
export function request(
  id: string,
  how: 'wait' | 'try' | number = 'wait',
  options: Pick<port.TicketRequest, 'order' | 'cost' | 'asksProgress'> = {},
): port.TicketRequest {
  const permits = parseTicketId(id)?.permits ?? 1;
  const arrival = typeof how === 'number' ? how : undefined;
  return { id, permits, wait: how !== 'try', arrival, ...options };
}

/** The order of a request of a group. */
export function ofGroup(group: string, weight = 1, priority = 0): port.RequestOrder {
  return { group, weight, priority };
}

export function granted(verdict: port.AcquireVerdict | undefined): port.GrantedVerdict {
  if (verdict?.kind === 'granted') return verdict;
  throw new Error(`expected a grant, got ${JSON.stringify(verdict)}`);
}

export function kinds(reply: port.AcquireReply): string[] {
  return reply.verdicts.map(({ kind }) => kind);
}

/** `client.1` to `client.count`. */
export function ids(client: string, count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, i) => `${client}.${from + i}`);
}
