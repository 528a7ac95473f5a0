import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';

import type {
  AcquireReply,
  Costs,
  GrantListener,
  PushedGrant,
  RequestOrder,
} from '../../src/backends/backend.js';
import { adoptedId, parseTicketId } from '../../src/backends/ticket-id.js';
import { type ModelRequest, OrderModel } from '../support/order-model.js';
import type { CallOptions, PortFixture, RedisFixture } from './port-fixture.js';
import { MemoryFixture, request } from './port-fixture.js';

export interface Member {
  readonly name: string;
  readonly ttl: number;
  readonly label: string;
}

export interface Ask {
  readonly id: string;
  readonly how: 'wait' | 'try' | 'again';
  readonly order?: RequestOrder | undefined;
  readonly asksProgress?: boolean;
  readonly cost?: Costs | undefined;
}

/** What is lost with each of these, besides what Redis can make again from the rest. */
const LOSSES = {
  everything: undefined,
  tickets: /^tickets$/,
  queue: /^(?:requests|queue|clients|parked|flows?:.*)$/,
  groups: /^groups$/,
} as const;

export type Loss = keyof typeof LOSSES;

/** Tokens and places rise alike on both sides, but have not the same last digits. */
const RISING = ['fencingToken', 'arrival', 'waitingFor', 'heldFor'];
const TIMES = ['serverTime', 'askAgainAt', 'expiresAt', 'expiresIn', 'nextIn', 'at'];

/** How often the lives of keys are looked at; with fresh seeds at each step. */
const LIVES_EVERY = process.env['REDSEM_SEED'] === 'fresh' ? 1 : 3;

/** One backend on its way through a program. */
class Side<Fixture extends PortFixture = PortFixture> {
  readonly fixture: Fixture;
  readonly tokens = new Map<string, number>();
  readonly arrivals = new Map<string, number | undefined>();
  /** What was pushed to each client: grants in their order, and tickets that ended. */
  readonly pushed = new Map<string, unknown[]>();
  #highest = 0;

  constructor(fixture: Fixture) {
    this.fixture = fixture;
  }

  async acquire(asks: readonly Ask[], options: CallOptions): Promise<AcquireReply> {
    const requests = asks.map(({ id, how, order, asksProgress, cost }) => {
      const place = how === 'again' ? (this.arrivals.get(id) ?? 'wait') : how;
      return request(id, place, order, asksProgress, cost);
    });
    const reply = await this.fixture.acquire(requests, options);
    reply.verdicts.forEach((verdict, i) => {
      const id = asks[i]?.id ?? '';
      if (verdict.kind === 'granted') this.tokens.set(id, verdict.fencingToken);
      if (verdict.kind !== 'queued') return;
      expect(verdict.arrival, `place of ${id}`).to.equal(this.arrivals.get(id) ?? verdict.arrival);
      this.arrivals.set(id, verdict.arrival);
    });
    this.#note(reply.grants);
    return reply;
  }

  async acquireTogether(id: string, options: CallOptions): Promise<AcquireReply | undefined> {
    const reply = await this.fixture.acquireTogether(id, options);
    const verdict = reply?.verdicts[0];
    if (verdict?.kind === 'granted') this.tokens.set(id, verdict.fencingToken);
    this.#note(reply?.grants ?? []);
    return reply;
  }

  async inspect() {
    const state = await this.fixture.inspect();
    const slots = state.holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size, 'distinct slots').to.equal(state.held);
    for (const { id, fencingToken } of state.holders) {
      if (this.tokens.get(id) !== fencingToken) {
        expect(fencingToken, `token of ${id}`).to.be.above(this.#highest);
      }
    }
    this.#note(state.holders);
    this.#highest = Math.max(this.#highest, ...this.tokens.values());
    const idle = state.held + state.waiting === 0 && state.limitFrom !== 'setLimit';
    // How long the limit of an idle semaphore is remembered is each backend's own.
    const limit = idle ? { limit: 1, limitFrom: 'options' } : {};
    return {
      ...state,
      ...limit,
      holders: state.holders.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }

  /** Notes the messages to a client. */
  listenerFor(client: string): Omit<GrantListener, 'onHealth'> {
    const push = (what: string, messages: readonly unknown[]): void => {
      const all = [...(this.pushed.get(`${what} ${client}`) ?? []), ...messages.map(plain)];
      // Either side may report a turn again, where a call changes nothing.
      const isNew = (each: unknown, i: number): boolean =>
        what !== 'turns of' || !isDeepStrictEqual(each, all[i - 1]);
      this.pushed.set(`${what} ${client}`, all.filter(isNew));
    };
    return {
      onGrants: (grants) => {
        this.#note(grants);
        push('grants to', grants);
      },
      onEnded: (ended) => push('ends reported to', ended),
      onTurn: (turn) => push('turns of', [turn]),
    };
  }

  /** Ids in the order of their last tokens, and of their places. */
  order(): string[][] {
    return [this.tokens, this.arrivals].map((numbers) =>
      [...numbers].toSorted(([, a = 0], [, b = 0]) => a - b).map(([id]) => id),
    );
  }

  #note(grants: readonly Pick<PushedGrant, 'id' | 'fencingToken'>[]): void {
    for (const { id, fencingToken } of grants) this.tokens.set(id, fencingToken);
  }
}

/** The model of the order of the queue, with the holders by the model. */
export class ModelSide {
  readonly #model = new OrderModel();
  readonly #held = new Map<string, ModelRequest>();
  readonly #limit: number;

  constructor(limit: number, groupLimit = Infinity) {
    this.#limit = limit;
    this.#model.groupLimit = groupLimit;
  }

  /** The requests that the model grants by now. */
  add({ id, order }: Ask): string[] {
    const plainOrder = { group: '', weight: 1, priority: 0, ...order };
    this.#model.add({ id, permits: parseTicketId(id)?.permits ?? 1, ...plainOrder });
    return this.#grant();
  }

  giveBack(id: string): string[] {
    const held = this.#held.get(id);
    if (held === undefined) this.#model.withdraw(id);
    else this.#model.release(held);
    this.#held.delete(id);
    return this.#grant();
  }

  inOrder(): string[] {
    return this.#model.inOrder();
  }

  #grant(): string[] {
    const used = [...this.#held.values()].reduce((sum, { permits }) => sum + permits, 0);
    const next = this.#model.next(this.#limit - used);
    if (next === undefined) return [];
    this.#held.set(next.id, next);
    return [next.id, ...this.#grant()];
  }
}

/**
 * The memory backend and the Redis backend, which get the same calls at the same time and must say
 * the same.
 */
export class LockStep {
  readonly memory: Side<MemoryFixture>;
  readonly redis: Side<RedisFixture>;
  readonly #members: readonly Member[];
  /** The options of members that have others than the rest. */
  readonly #options = new Map<string, CallOptions>();
  /** How many may wait, if any number may not. */
  maxWaiting: number | undefined;
  #latest: number;
  /** By how much the time was set back. */
  #behind = 0;
  #queueLost = false;
  #partLost = false;
  #looks = 0;
  /** Rates, budgets or group limits count in the program. */
  isRuled = false;
  /** The order of the queue by its model: in programs whose calls have one request each. */
  model: ModelSide | undefined;

  /** `redis`: its key, limit and time are those of the program. */
  constructor(redis: RedisFixture, members: readonly Member[]) {
    const { time, limit } = redis;
    this.#latest = time.now;
    this.memory = new Side(new MemoryFixture({ time, limit, name: redis.key.name }));
    this.redis = new Side(redis);
    this.#members = members;
    this.#listenInMemory();
  }

  get now(): number {
    return this.redis.fixture.time.now;
  }

  /** The member comes back with other options. */
  use({ name }: Member, options: CallOptions): void {
    this.#options.set(name, { ...this.#options.get(name), ...options });
  }

  pass(milliseconds: number): void {
    this.redis.fixture.pass(milliseconds);
    this.#latest = Math.max(this.#latest, this.now);
  }

  /** In the order in which a call serves requests: with a place, new requests, tries. */
  async acquire(member: Member, asks: readonly Ask[], notAfter?: number): Promise<AcquireReply> {
    const rank = ({ id, how }: Ask): number => {
      if (how === 'try') return 2;
      return how === 'again' && this.memory.arrivals.get(id) !== undefined ? 0 : 1;
    };
    const sorted = asks.toSorted((a, b) => rank(a) - rank(b));
    // Not every process must have a bound.
    const maxWaiting = member.name === 'd' ? undefined : this.maxWaiting;
    const options = { ...this.#of(member), notAfter, maxWaiting };
    const ours = await this.memory.acquire(sorted, options);
    const theirs = await this.redis.acquire(sorted, options);
    // Callers that do not wait need not know when the next ticket expires.
    const { askAgainAt } = ours.askAgainAt === undefined ? ours : theirs;
    // Redis may count the requests of a lost queue until they ask again. It makes heads again under
    // a cap that memory applies when the queue is served.
    const isSure = !this.#queueLost && !(this.isRuled && this.#partLost);
    const shown = (reply: AcquireReply) => (isSure ? reply : withoutProgress(reply));
    compare(shown({ ...theirs, askAgainAt }), shown(ours));
    const verdicts = asks.flatMap((ask) => ours.verdicts[sorted.indexOf(ask)] ?? []);
    const isNew = ({ how }: Ask): boolean => how === 'wait';
    const own = asks.filter((ask, i) => isNew(ask) && verdicts[i]?.kind === 'granted');
    const expected = asks.filter(isNew).flatMap((ask) => this.model?.add(ask) ?? []);
    this.#follow(expected, [...own, ...ours.grants]);
    return { ...ours, verdicts };
  }

  /** Whether it was granted. Such a call names no rules. */
  async acquireTogether(member: Member, id: string, notAfter?: number): Promise<boolean> {
    const options = { ...this.#plain(member), notAfter };
    const reply = await this.#both((side) => side.acquireTogether(id, options));
    return reply?.verdicts[0]?.kind === 'granted';
  }

  /** The first may be asked for by a token that the ticket no longer has. */
  async extend(member: Member, ids: readonly string[], isFirstOld: boolean) {
    const call = async ({ fixture, tokens }: Side) => {
      const fencingTokens = ids.map(
        (id, i) => (tokens.get(id) ?? 1) - (isFirstOld && i === 0 ? 1 : 0),
      );
      return fixture.extend(ids, { ...this.#of(member), fencingTokens });
    };
    // Redis does not look at the rate in every extension: what it allows is granted before.
    if (this.isRuled) await this.release(member, ['never.1'], true);
    await this.#both(call);
  }

  async release(
    member: Member,
    ids: readonly string[],
    knowsLimit: boolean,
    spent: readonly (Costs | undefined)[] = [],
  ): Promise<void> {
    const options = { ...this.#of(member), ...(knowsLimit ? {} : { limit: 0 }), spent };
    const { grants } = await this.#both(async ({ fixture }) => {
      const { storedLimit, otherLimit, ...reply } = await fixture.release(ids, options);
      return knowsLimit ? { ...reply, storedLimit, otherLimit } : reply;
    });
    this.#follow(
      ids.flatMap((id) => this.model?.giveBack(id) ?? []),
      grants,
    );
  }

  #follow(expected: readonly string[], granted: readonly { readonly id: string }[]): void {
    if (this.model === undefined) return;
    expect(
      granted.map(({ id }) => id),
      'granted, and by the model',
    ).to.deep.equal(expected);
  }

  /** A change by an operator, as the rules that `member` knows are. */
  async change(
    member: Member,
    notAfter: number | undefined,
    call: (fixture: PortFixture, options: CallOptions) => Promise<unknown>,
  ): Promise<void> {
    const options = { ...this.#of(member), notAfter };
    await this.#both(({ fixture }) => call(fixture, options));
  }

  /** Its new id, if the ticket was there. */
  async adopt(member: Member, id: string, own: string, notAfter?: number) {
    const options = { ...this.#of(member), notAfter };
    const newId = adoptedId(own, id);
    const reply = await this.#both(async ({ fixture, tokens }) => {
      const { ticket, ...rest } = await fixture.adopt(id, own, options);
      if (ticket !== undefined) tokens.set(newId, ticket.fencingToken);
      return { ...rest, ticket };
    });
    return reply.ticket === undefined ? undefined : newId;
  }

  /**
   * What has expired must be gone before, and leases fresh: only one side remembers it for longer.
   */
  async stepBack(milliseconds: number): Promise<void> {
    await this.#both(({ fixture }) => fixture.revoke('never.1'));
    this.redis.fixture.pass(-milliseconds);
    this.#behind += milliseconds;
  }

  /** `waiting`: all requests that may be in the queue. */
  async lose(what: Loss, waiting: readonly string[]): Promise<void> {
    const [memory, redis] = [this.memory.fixture, this.redis.fixture];
    const parts: RegExp | undefined = LOSSES[what];
    if (what === 'queue' || what === 'everything') this.#queueLost = what === 'queue';
    this.#partLost = parts !== undefined;
    if (parts === undefined) {
      // Tokens rise over it where the clock is not behind.
      this.pass(Math.max(this.#latest - this.now, 0) + 1);
      await Promise.all([memory.loseAll(), redis.loseAll()]);
      return this.#listenInMemory();
    }
    const held = what === 'tickets' ? await memory.holders() : [];
    await redis.lose(...Object.keys(await redis.lives()).filter((part) => parts.test(part)));
    if (what === 'groups') return;
    const gone = [...held, ...(what === 'queue' ? waiting : []), 'never.1'];
    for (const fixture of [memory, redis]) await fixture.release(gone, { client: 'nobody' });
  }

  /** Turns aside where the clock was set back: each side may then name another time. */
  comparePushes(): void {
    const isSure = ([what]: [string, unknown]): boolean =>
      this.#behind === 0 || !what.startsWith('turns');
    const [redis, memory] = [this.redis, this.memory].map(
      ({ pushed }) => new Map([...pushed].filter(isSure)),
    );
    expect(redis, 'pushed').to.deep.equal(memory);
  }

  /**
   * Compares holders and waiters, and checks now and then that no key goes too early or stays: a
   * life that is wrong is so until a later call sets it.
   */
  async inspect(what: string): Promise<void> {
    const { holders, waiters } = await this.#both((side) => side.inspect());
    if (this.model !== undefined) {
      expect(
        waiters.map(({ id }) => id),
        'waiting, and by the model',
      ).to.deep.equal(this.model.inOrder());
    }
    this.#looks += 1;
    if (this.#looks % LIVES_EVERY > 0) return;
    await this.redis.fixture.expectSafeExpiry(what, this.#behind, holders);
  }

  /**
   * After the last ticket and request: `info` alone stays, with nothing of them but labels of a
   * queue that was lost.
   */
  async end(): Promise<void> {
    compare(this.redis.order(), this.memory.order());
    if (!this.#queueLost) await this.redis.fixture.expectNothingLeft();
  }

  async #both<R>(call: (side: Side) => Promise<R>): Promise<R> {
    const expected = await call(this.memory);
    compare(await call(this.redis), expected);
    return expected;
  }

  #listenInMemory(): void {
    const { fixture } = this.memory;
    for (const { name } of this.#members) {
      fixture.listen(name, { ...this.memory.listenerFor(name), onHealth: () => {} });
    }
  }

  #of(member: Member): CallOptions {
    return { ...this.#options.get(member.name), ...this.#plain(member) };
  }

  /** Without rules. */
  #plain({ name: client, ttl, label }: Member): CallOptions {
    const { limit = this.redis.fixture.limit } = this.#options.get(client) ?? {};
    return { client, ttl, label, limit };
  }
}

/** Subscriptions in Redis: for each member, through all programs. */
export class Pushes {
  /** The side that the messages reach from now on. */
  reader: Side | undefined;
  readonly #redis: RedisFixture;
  readonly #clients: readonly string[];
  #arrived = 0;
  #onLast = (): void => {};

  constructor(redis: RedisFixture, members: readonly Member[]) {
    this.#redis = redis;
    this.#clients = members.map(({ name }) => name);
  }

  async open(): Promise<void> {
    for (const client of this.#clients) {
      const reader = () => this.reader?.listenerFor(client);
      await this.#redis.subscribe(client, {
        onGrants: (grants, name) => {
          if (name !== 'last') return reader()?.onGrants(grants, name);
          this.#arrived += 1;
          if (this.#arrived === this.#clients.length) this.#onLast();
        },
        onEnded: (ended, name) => name !== 'last' && reader()?.onEnded?.(ended, name),
        onTurn: (turn, name) => reader()?.onTurn?.(turn, name),
      });
    }
  }

  /** Messages reach a client in order: after the grants of one more semaphore there are no more. */
  async allIn(): Promise<void> {
    const redis = this.#redis;
    const limit = this.#clients.length;
    redis.moveTo('last', limit);
    this.#arrived = 0;
    const last = new Promise<void>((resolve) => (this.#onLast = resolve));
    await redis.take(`z.1.${limit}`);
    for (const client of this.#clients) await redis.acquire(`${client}.last`);
    await redis.release(`z.1.${limit}`);
    await redis.release(this.#clients.map((client) => `${client}.last`));
    await last;
  }
}

function withoutProgress(reply: AcquireReply): unknown {
  const verdicts = reply.verdicts.map((verdict) => ({ ...verdict, progress: undefined }));
  return { ...reply, verdicts };
}

export function compare(redis: unknown, memory: unknown): void {
  expect(plain(redis), 'Redis, and in memory').to.deep.equal(plain(memory));
}

/**
 * As both sides must have it: Redis counts in microseconds, the memory backend in milliseconds;
 * absent fields are left out.
 */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const said = Object.entries(value).filter(([name, one]) => {
    return one !== undefined && one !== false && !RISING.includes(name);
  });
  const shown = said.map(([name, one]): [string, unknown] => {
    return [name, TIMES.includes(name) ? Math.round(Number(one) * 100) / 100 : plain(one)];
  });
  return Object.fromEntries(shown);
}
