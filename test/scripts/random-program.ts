import { expect } from 'chai';

import type {
  AcquireReply,
  Costs,
  PushedGrant,
  PushedTurn,
  Rate,
  RequestOrder,
} from '../../src/backends/backend.js';
import { CLAIM_TIME_MS, WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { adoptedId, firstId, parseTicketId, ticketId } from '../../src/backends/ticket-id.js';
import { type Ask, compare, ModelSide, Side } from './lock-step.js';
import type { CallOptions, PortFixture, RedisFixture } from './port-fixture.js';
import { DAY, lastEnd, MemoryFixture } from './port-fixture.js';

/** Clients, with their terms. */
export const MEMBERS: Readonly<Record<string, CallOptions>> = {
  a: { ttl: 5000, label: 'first member; a|b' },
  b: { ttl: 800, label: '' },
  c: { ttl: 2500.25, label: 'ü 100%' },
  d: { ttl: 30_000, label: 'd' },
};

/** What the calls of a program are, and how often. */
export interface Habits {
  readonly limit: number;
  /** The permits of the largest request. */
  readonly largest: number;
  readonly longestPause: number;
  /** How many requests a call has for each that is drawn. */
  readonly batch?: number;
  /** Of what new requests get one. */
  readonly orders?: readonly (RequestOrder | undefined)[];
  /** Of what new requests cost. */
  readonly costs?: readonly (Costs | undefined)[];
  readonly maxWaiting?: number;
  /** Every other request asks how long it may have to wait. */
  readonly progress?: boolean;
  /** Calls have one request each, and the order of grants is that of its model. */
  readonly model?: { readonly groupLimit?: number };
  readonly acts: Readonly<Record<string, number>>;
}

export interface Step {
  /** Picks the act. */
  readonly act: number;
  readonly member: number;
  /**
   * Each number picks an operand among the ids at hand, so that a program that fails shrinks well.
   */
  readonly picks: readonly number[];
  /** 0 ≤ dice < 100. */
  readonly dice: number;
}

type Change = (
  one: PortFixture,
  options: CallOptions,
  operands: { first: number; dice: number; limit: number; id: string; rate: Rate | undefined },
) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  revoke: (one, options, { id }) => one.revoke(id, options),
  // Some remove the stored limit.
  setLimit: (one, options, { dice, first, limit }) =>
    one.setLimit(dice < 25 ? undefined : first % (limit + 1), options),
  // Some are sent twice.
  addPermits: (one, options, { dice, first }) =>
    one.addPermits((first % 5) - 2, `${options.client}.${dice % 8}`, options),
  setRate: (one, options, { rate }) => one.setRate(rate, options),
  setGroupLimit: (one, options, { dice, first, limit }) =>
    one.setGroupLimit(dice < 25 ? undefined : 1 + (first % limit), options),
  setBudget: (one, options, { dice, rate }) =>
    one.setBudget(BUDGETS[dice % 6] ?? '', rate, options),
};

/** Intervals of 0.1 ms to a minute, some of them no whole microseconds. */
const RATES: readonly (Rate | undefined)[] = [
  undefined,
  { permits: 10, per: 1000, burst: 1 },
  { permits: 7, per: 1000, burst: 3 },
  { permits: 100, per: 30_000, burst: 5 },
  { permits: 10_000, per: 1000, burst: 1 },
  { permits: 1000, per: 600_000, burst: 2 },
  { permits: 1, per: 60_000, burst: 1 },
];

/** More than may count at once. */
const BUDGETS = ['tokens', 'x-y.z_1', 'a', 'b.c', 'd', 'e'];

const TERMS: readonly CallOptions[] = [
  { groupLimit: 2, rate: { permits: 100, per: 30_000, burst: 5 } },
  { groupLimit: 3, budgets: { tokens: { permits: 900, per: 1000, burst: 90 } } },
  {
    groupLimit: 1,
    budgets: {
      tokens: { permits: 70, per: 100, burst: 200 },
      'x-y.z_1': { permits: 10, per: 1000, burst: 1 },
    },
  },
  // Always in debt, for days.
  { budgets: { slow: { permits: 1000, per: 10 * DAY, burst: 1_000_000 } } },
  {},
];

/** The keys that go, of which all but these are made again from the rest. */
const LOSSES = {
  everything: /./,
  tickets: /^tickets$/,
  queue: /^(?:requests|queue|clients|flows?:.*)$/,
  groups: /^groups$/,
  slots: /^slots$/,
} as const;

/**
 * How often the overview and the lives of keys are looked at; with a given seed at each step, so
 * that it repeats what a fresh seed has found.
 */
const LOOK_EVERY = process.env['REDSEM_SEED'] === undefined ? 3 : 1;

/** What a member knows about its requests. */
interface Mine {
  readonly client: string;
  options: CallOptions;
  readonly waiting: Set<string>;
  /** Until when its requests that wait count. */
  leaseEnds: number;
  readonly held: Set<string>;
}

/**
 * The memory backend and the Redis backend, which get the same calls at the same time and must say
 * the same.
 */
export class Program {
  readonly memory: Side<MemoryFixture>;
  readonly redis: Side<RedisFixture>;
  readonly trace: string[] = [];
  readonly #habits: Habits;
  readonly #acts: readonly string[];
  readonly #all: readonly Mine[];
  /** The order of the queue by its model: in programs whose calls have one request each. */
  readonly #model: ModelSide | undefined;
  /** What requests were made with. */
  readonly #asked = new Map<string, Omit<Ask, 'id' | 'how'>>();
  #made = 0;
  #looks = 0;
  #latest: number;
  /** When the program made its calls. */
  readonly #moments = new Set<unknown>();
  /** By how much the time was set back. */
  #behind = 0;
  /** From when until when a lease may be over on one side alone. */
  #unsure: readonly [number, number] = [0, 0];
  #queueLost = false;
  #partLost = false;

  /** `redis`: has the key, the limit and the time of the program. */
  constructor(redis: RedisFixture, habits: Habits) {
    const { time, limit, key } = redis;
    const { acts, maxWaiting, model } = habits;
    this.#latest = time.now;
    this.memory = new Side(new MemoryFixture({ time, limit, name: key.name }));
    this.redis = new Side(redis);
    this.#habits = habits;
    this.#acts = Object.entries(acts).flatMap(([act, weight]) => Array<string>(weight).fill(act));
    this.#model = model && new ModelSide(limit, model.groupLimit);
    this.#all = Object.entries(MEMBERS).map(([client, terms]) => {
      // Not every process must have a bound.
      const most = client === 'd' ? undefined : maxWaiting;
      const options = { ...terms, client, limit, maxWaiting: most, groupLimit: model?.groupLimit };
      return { client, options, waiting: new Set(), leaseEnds: 0, held: new Set() };
    });
    this.#listenInMemory();
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      // A reply has the grants of its client alone.
      const mine = this.#all[this.#model === undefined ? step.member : 0];
      const act = this.#acts[step.act % this.#acts.length];
      if (mine === undefined || act === undefined) continue;
      this.trace.push(JSON.stringify({ ...step, act }));
      await this.#do(act, step, mine);
      await this.#inspect(this.trace.at(-1) ?? '');
    }
  }

  /**
   * All is given back: once the revoked tickets are forgotten, `info` alone is left, with nothing
   * of tickets and requests but labels of a queue that was lost.
   */
  async end(): Promise<void> {
    for (const mine of this.#all) await this.#giveBack(mine, [...mine.held, ...mine.waiting]);
    this.#pass(60_000);
    for (const mine of this.#all) await this.#release(mine, ['never.1']);
    await this.#inspect('the end');
    compare(this.redis.order(), this.memory.order());
    if (!this.#queueLost) await this.redis.fixture.expectNothingLeft();
  }

  /** Turns aside where the clock was set back: each side may then name another time. */
  comparePushes(): void {
    const [redis, memory] = [this.redis, this.memory].map(({ pushed }) => {
      const isTurns = (what: string): boolean => what.startsWith('turns');
      const sure = [...pushed].filter(([what]) => this.#behind === 0 || !isTurns(what));
      const toldOf = (what: string, all: readonly unknown[]): readonly unknown[] =>
        isTurns(what)
          ? this.#newTurns(all, pushed.get(what.replace('turns of', 'grants to')))
          : all;
      return new Map(sure.map(([what, all]) => [what, toldOf(what, all)]));
    });
    expect(redis, 'pushed').to.deep.equal(memory);
  }

  /**
   * Leaves out a turn that says "at once" to a client whose known turn is over, or whose request is
   * granted at that moment: a side may send it at a call that changes nothing, and an extension by
   * Redis's usual path never does.
   */
  #newTurns(turns: readonly unknown[], grants: readonly unknown[] = []): readonly unknown[] {
    const isKnown = (turn: unknown, last: unknown): boolean => {
      const [{ id, at }, told] = [turn, last] as [PushedTurn, PushedTurn | undefined];
      const isGranted = (grants as PushedGrant[]).some(
        (grant) => grant.id === id && grant.expiresAt <= at + CLAIM_TIME_MS,
      );
      return this.#moments.has(at) && (isGranted || (told?.id === id && told.at <= at));
    };
    return turns.filter((turn, i) => !isKnown(turn, turns[i - 1]));
  }

  async #do(act: string, { picks, dice }: Step, mine: Mine): Promise<void> {
    const { client, held, waiting, options } = mine;
    const { longestPause, limit } = this.#habits;
    const [first = 0] = picks;
    // At its time a call is in time, a microsecond later it is late.
    const notAfter = dice < 20 ? this.#now - (dice % 2) / 1000 : undefined;
    const rate = RATES[first % RATES.length];
    const id = this.#anyId(first);
    switch (act) {
      case 'ask':
        return this.#ask(mine, picks, dice);
      case 'askAgain':
        return this.#askAgain(mine, picks, dice);
      case 'askLate': {
        const asks: Ask[] = [...again(waiting), { id: `${client}.late`, how: 'wait' }];
        return this.#acquire(mine, asks, this.#now - 0.5);
      }
      case 'askTogether':
        return this.#askTogether(mine, first, dice < 70, notAfter);
      case 'extend':
        return this.#extend(mine, some([...held, ...waiting], picks, 0.7), dice < 10);
      case 'release': {
        const share = dice < 20 ? 1 : 0.5;
        const given = [...some([...held], picks, share), ...some([...waiting], picks, 0.2)];
        return this.#giveBack(mine, dice % 10 === 0 ? [...given, ...given] : given, first);
      }
      case 'adopt':
        return this.#adopt(mine, id, dice > 80 ? 2 : 1, notAfter);
      case 'otherLimit':
        return void (mine.options = { ...options, limit: 1 + (first % limit) });
      case 'otherRate':
        return void (mine.options = { ...options, rate });
      case 'otherTerms': {
        const none = { rate: undefined, groupLimit: undefined, budgets: undefined };
        return void (mine.options = { ...options, ...none, ...TERMS[first % TERMS.length] });
      }
      case 'pass':
        return this.#pass(Math.round((longestPause * 4 * first) / 99) / 4);
      case 'stall':
        return this.#pass(500 + 65 * first);
      case 'stepBack':
        return this.#stepBack(10 * first);
      case 'lose':
        return this.#lose(first);
      default: {
        const operands = { first, dice, limit, id, rate };
        await this.#both<unknown>(({ fixture }) => {
          const change = CHANGES[act] ?? expect.fail(`no such act: ${act}`);
          return change(fixture, { ...options, notAfter }, operands);
        });
      }
    }
  }

  async #ask(mine: Mine, picks: readonly number[], dice: number): Promise<void> {
    const { largest, batch = 1, orders = [], costs = [], progress = false } = this.#habits;
    const many = dice < 50 ? picks.flatMap((pick) => Array<number>(batch).fill(pick)) : picks;
    const wanted = this.#model === undefined ? many : picks.slice(0, 1);
    const asks = wanted.map((pick, i): Ask => {
      // Now and then more than the limit.
      const id = this.#newId(mine, 1 + (pick % largest));
      const drawn = pick + dice + i;
      const [order, cost] = [orders[drawn % orders.length], costs[drawn % costs.length]];
      this.#asked.set(id, { order, cost, asksProgress: progress && id.length % 2 === 0 });
      return { id, how: i > wanted.length * 0.7 ? 'try' : 'wait' };
    });
    // A process asks again for all that it waits for; new requests may travel with those.
    const known = dice % 5 < 2 ? again(mine.waiting) : [];
    const twice = dice < 5 ? asks.slice(0, 1) : [];
    // Some travel alone: a free permit is granted by a usual path.
    const isAlone = this.#model !== undefined || dice % 3 === 0;
    const calls = isAlone ? asks.map((ask) => [ask]) : [[...known, ...asks, ...twice]];
    for (const call of calls) await this.#acquire(mine, call);
  }

  /** A call that runs twice: also for tickets that are held already. */
  async #askAgain(mine: Mine, picks: readonly number[], dice: number): Promise<void> {
    const asks = [...again(mine.waiting), ...again(some(askedFor(mine), picks, 0.1))];
    for (let time = dice < 20 ? 2 : 1; time > 0 && asks.length > 0; time -= 1) {
      await this.#acquire(mine, asks);
    }
  }

  /** In the order in which a call serves requests: with a place, new requests, tries. */
  async #acquire(mine: Mine, given: readonly Ask[], notAfter?: number): Promise<void> {
    const rank = ({ id, how }: Ask): number => {
      if (how === 'try') return 2;
      return how === 'again' && this.memory.arrivals.get(id) !== undefined ? 0 : 1;
    };
    const asks = given.map((ask) => ({ ...ask, ...this.#asked.get(ask.id) }));
    const sorted = asks.toSorted((a, b) => rank(a) - rank(b));
    const options = { ...mine.options, notAfter };
    const ours = await this.memory.acquire(sorted, options);
    const theirs = await this.redis.acquire(sorted, options);
    // Callers that do not wait need not know when the next ticket expires.
    const { askAgainAt } = ours.askAgainAt === undefined ? ours : theirs;
    // Redis may count the requests of a lost queue until they ask again. It makes heads again under
    // a cap that memory applies when the queue is served; and a new cap moves heads aside on either
    // side only when it looks at them.
    const isSure = !this.#queueLost && !(this.#isRuled && this.#partLost) && !this.#capMoves;
    const shown = (reply: AcquireReply) => (isSure ? reply : withoutProgress(reply));
    compare(shown({ ...theirs, askAgainAt }), shown(ours));
    const own: Ask[] = [];
    sorted.forEach((ask, i) => {
      const kind = ours.verdicts[i]?.kind;
      if (kind === 'late') return;
      if (kind === 'queued') mine.leaseEnds = this.#now + WAITER_LEASE_MS;
      if (kind === 'queued') mine.waiting.add(ask.id);
      else mine.waiting.delete(ask.id);
      if (kind === 'granted') mine.held.add(ask.id);
      if (kind === 'granted' && ask.how === 'wait') own.push(ask);
    });
    const fresh = asks.filter(({ how }) => how === 'wait');
    this.#follow(
      fresh.flatMap((ask) => this.#model?.add(ask) ?? []),
      [...own, ...ours.grants],
    );
  }

  /** Such a call names no rules. Some run twice. */
  async #askTogether(mine: Mine, pick: number, isNew: boolean, notAfter?: number): Promise<void> {
    const { client, limit = 1, ttl = 1, label = '' } = mine.options;
    const ofOne = askedFor(mine).filter((held) => parseTicketId(held)?.permits === 1);
    const id = isNew ? this.#newId(mine, 1) : (ofOne[pick] ?? this.#newId(mine, 1));
    const options = { client: client ?? '', limit, ttl, label, notAfter };
    const reply = await this.#both((side) => side.acquireTogether(id, options));
    if (reply?.verdicts[0]?.kind === 'granted') mine.held.add(id);
  }

  /** The first may be asked for by a token that the ticket no longer has. */
  async #extend(mine: Mine, ids: readonly string[], isFirstOld: boolean): Promise<void> {
    if (ids.length === 0) return;
    // Redis does not look at the queue in every extension: a call before it grants what a rate, or
    // the end of a lease, allows.
    if (this.#isRuled || this.#hasDead) await this.#release(mine, ['never.1']);
    await this.#both(async ({ fixture, tokens }) => {
      const now = ids.map((id) => tokens.get(id) ?? 1);
      const fencingTokens = now.map((token, i) => (isFirstOld && i === 0 ? token - 1 : token));
      return fixture.extend(ids, { ...mine.options, fencingTokens });
    });
  }

  async #giveBack(mine: Mine, ids: readonly string[], pick = 0): Promise<void> {
    // Some say what they have spent: less, the same, or more.
    const spent = ids.map((_, i) =>
      this.#habits.costs === undefined || (pick + i) % 3 === 0 ? undefined : { tokens: pick },
    );
    // A ticket that is given back alone takes the usual paths.
    const asked = ids.length === 1 ? ids : [...ids, 'never.1'];
    const calls = this.#model === undefined ? [asked] : ids.map((id) => [id]);
    const knowsLimit = ids.length < 2 || ids.length % 2 === 0 || calls[0] !== asked;
    for (const call of calls) await this.#release(mine, call, knowsLimit, spent);
    for (const id of ids) for (const list of [mine.held, mine.waiting]) list.delete(id);
  }

  async #release(
    mine: Mine,
    ids: readonly string[],
    knowsLimit = true,
    spent: readonly (Costs | undefined)[] = [],
  ): Promise<void> {
    const options = { ...mine.options, ...(knowsLimit ? {} : { limit: 0 }), spent };
    const { grants } = await this.#both(async ({ fixture }) => {
      const { storedLimit, otherLimit, ...reply } = await fixture.release(ids, options);
      return knowsLimit ? { ...reply, storedLimit, otherLimit } : reply;
    });
    this.#follow(
      ids.flatMap((id) => this.#model?.giveBack(id) ?? []),
      grants,
    );
  }

  #follow(expected: readonly string[], granted: readonly { readonly id: string }[]): void {
    const got = granted.map(({ id }) => id);
    if (this.#model !== undefined) expect(got, 'granted, by the model').to.deep.equal(expected);
  }

  async #adopt(mine: Mine, id: string, times: number, notAfter?: number): Promise<void> {
    const own = this.#newId(mine, parseTicketId(firstId(id))?.permits ?? 1);
    for (let time = 0; time < times; time += 1) {
      const { ticket } = await this.#both(async ({ fixture, tokens }) => {
        const reply = await fixture.adopt(id, own, { ...mine.options, notAfter });
        if (reply.ticket) tokens.set(adoptedId(own, id), reply.ticket.fencingToken);
        return reply;
      });
      if (ticket !== undefined) mine.held.add(adoptedId(own, id));
    }
  }

  /**
   * Skips the times at which a lease may be over on one side alone: once the time was set back, a
   * request that joins the queue by Redis's usual path gives its client a lease that ends before
   * the lease that it had.
   */
  #pass(milliseconds: number): void {
    const { fixture } = this.redis;
    fixture.pass(milliseconds);
    const [from, to] = this.#unsure;
    if (from <= this.#now && this.#now < to) fixture.pass(to - this.#now);
    this.#latest = Math.max(this.#latest, this.#now);
    this.#moments.add(this.#now);
  }

  /**
   * What has expired must be gone before, and leases fresh: only one side remembers it for longer.
   */
  async #stepBack(milliseconds: number): Promise<void> {
    // All waiters have a lease.
    for (const each of this.#all) await this.#askAgain(each, [], 99);
    await this.#both(({ fixture }) => fixture.revoke('never.1'));
    const before = this.#now;
    this.redis.fixture.pass(-milliseconds);
    this.#behind += milliseconds;
    const [from, to] = this.#unsure;
    const earliest = this.#now < to ? from : Infinity;
    this.#unsure = [
      Math.min(this.#now + WAITER_LEASE_MS, earliest),
      Math.max(before + WAITER_LEASE_MS, to),
    ];
  }

  async #lose(pick: number): Promise<void> {
    const losses = Object.entries(LOSSES);
    const [what, parts] = losses[pick % losses.length] ?? ['everything', LOSSES.everything];
    const [memory, redis] = [this.memory.fixture, this.redis.fixture];
    if (what === 'queue' || what === 'everything') this.#queueLost = what === 'queue';
    this.#partLost = what !== 'everything';
    if (what === 'everything') {
      // Tokens rise over it where the clock is not behind.
      this.#pass(Math.max(this.#latest - this.#now, 0) + 1);
      await memory.loseAll();
      this.#listenInMemory();
    }
    const held = what === 'tickets' ? await memory.holders() : [];
    await redis.lose(...Object.keys(await redis.lives()).filter((part) => parts.test(part)));
    if (what !== 'tickets' && what !== 'queue') return;
    const waiting = what === 'queue' ? this.#all.flatMap((mine) => [...mine.waiting]) : [];
    for (const fixture of [memory, redis]) {
      await fixture.release([...held, ...waiting, 'never.1'], { client: 'nobody' });
    }
  }

  /**
   * Compares holders and waiters, and checks now and then the overview, and that no key goes too
   * early or stays: a life that is wrong is so until a later call sets it.
   */
  async #inspect(what: string): Promise<void> {
    const state = await this.#both((side) => side.inspect());
    if (this.#model !== undefined) {
      const order = state.waiters.map(({ id }) => id);
      expect(order, 'waiting, and by the model').to.deep.equal(this.#model.inOrder());
    }
    const { fixture } = this.redis;
    fixture.longest = Math.max(fixture.longest, lastEnd(state));
    this.#looks += 1;
    if (this.#looks % LOOK_EVERY > 0) return;
    await this.#both((side) => side.overview());
    await fixture.expectSafeExpiry(what, this.#behind, state);
  }

  async #both<R>(call: (side: Side) => Promise<R>): Promise<R> {
    const expected = await call(this.memory);
    compare(await call(this.redis), expected);
    return expected;
  }

  #listenInMemory(): void {
    const { fixture } = this.memory;
    for (const { client } of this.#all) {
      fixture.listen(client, { ...this.memory.listenerFor(client), onHealth: () => {} });
    }
  }

  get #now(): number {
    return this.redis.fixture.time.now;
  }

  /** Rates, budgets or group limits count in the program. */
  get #isRuled(): boolean {
    return this.#acts.some((act) => /Rate|Terms|Budget|Group/.test(act));
  }

  /** The lease of a client that waits is over. */
  get #hasDead(): boolean {
    return this.#all.some(({ waiting, leaseEnds }) => waiting.size > 0 && leaseEnds <= this.#now);
  }

  /** The cap of groups may change: positions are estimates then. */
  get #capMoves(): boolean {
    return this.#acts.some((act) => /Terms|Group/.test(act));
  }

  #newId({ client }: Mine, permits: number): string {
    this.#made += 1;
    return ticketId(client, this.#made, permits);
  }

  /** Also of a ticket that has expired, was released or adopted, or of a request. */
  #anyId(pick: number): string {
    const known = this.#all.flatMap(({ held, waiting }) => [...held, ...waiting]);
    return known[known.length - 1 - (pick % (known.length + 1))] ?? 'never.1';
  }
}

function withoutProgress(reply: AcquireReply): unknown {
  const verdicts = reply.verdicts.map((verdict) => ({ ...verdict, progress: undefined }));
  return { ...reply, verdicts };
}

function again(ids: Iterable<string>): Ask[] {
  return [...ids].map((id) => ({ id, how: 'again' }));
}

/**
 * Its tickets but for adopted tickets: a client makes the ids of its requests, and none has `~`.
 * A ticket that is granted by the id of an adopted ticket lacks the field of `info` for its first
 * id.
 */
function askedFor({ held }: Mine): string[] {
  return [...held].filter((id) => !id.includes('~'));
}

/** About that share of them. */
function some(list: readonly string[], picks: readonly number[], share: number): string[] {
  return list.filter((_, i) => ((picks[i % picks.length] ?? 0) * (i + 1)) % 100 < 100 * share);
}
