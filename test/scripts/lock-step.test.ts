import * as fc from 'fast-check';

import type { Costs, Rate, RequestOrder } from '../../src/backends/backend.js';
import { parseTicketId, ticketId } from '../../src/backends/ticket-id.js';
import { check } from '../random/reproducible.js';
import { describeWithServer } from '../support/require-server.js';
import { type Ask, LockStep, type Loss, type Member, ModelSide, Pushes } from './lock-step.js';
import { type CallOptions, closeFixtures, RedisFixture } from './port-fixture.js';

const START = 1_795_236_819_680;

const MEMBERS: readonly Member[] = [
  { name: 'a', ttl: 5000, label: 'first member; a|b' },
  { name: 'b', ttl: 800, label: '' },
  { name: 'c', ttl: 2500.25, label: 'ü 100%' },
  { name: 'd', ttl: 30_000, label: 'd' },
];

const ACTS = {
  ask: 30,
  askAgain: 20,
  extend: 15,
  release: 25,
  askLate: 4,
  askTogether: 0,
  adopt: 0,
  revoke: 0,
  setLimit: 0,
  addPermits: 0,
  otherLimit: 0,
  otherRate: 0,
  setRate: 0,
  otherTerms: 0,
  setGroupLimit: 0,
  setBudget: 0,
  pass: 60,
  stall: 3,
  stepBack: 1,
  lose: 1,
};

type Act = keyof typeof ACTS;

/** What one kind of random program does, and how often. */
interface Habits {
  readonly limit: number;
  /** Left out: 1 permit. */
  readonly largest?: number;
  /** Left out: 150 ms. */
  readonly longestPause?: number;
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
  readonly acts?: Partial<Record<Act, number>>;
}

function order(group: string, weight = 1, priority = 0): RequestOrder {
  return { group, weight, priority };
}

const MODELLED = {
  limit: 4,
  orders: ['', '', 'a', 'b', 'c', 'a b;|'].flatMap((group) =>
    (group === '' ? [1] : [1, 2, 3, 1000]).flatMap((weight) =>
      [0, 0, 0, 1, 9].map((priority) => order(group, weight, priority)),
    ),
  ),
  acts: {
    ask: 60,
    release: 50,
    askAgain: 5,
    extend: 5,
    askLate: 0,
    pass: 0,
    stall: 0,
    stepBack: 0,
    lose: 0,
  },
};

const OPERATIONS = { adopt: 30, revoke: 20, setLimit: 8, addPermits: 8, otherLimit: 3 };
const HABITS: Readonly<Record<string, Habits>> = {
  'one permit, hand-over and revocation': {
    limit: 1,
    longestPause: 400,
    acts: { ...OPERATIONS, stall: 10, askTogether: 10 },
  },
  'few permits, many waiters, and how long to wait': {
    limit: 3,
    progress: true,
    acts: { askTogether: 5 },
  },
  'weights and stalls': {
    limit: 7,
    largest: 4,
    longestPause: 400,
    acts: { stall: 15, askTogether: 5 },
  },
  'large calls': { limit: 60, largest: 3, longestPause: 60, batch: 9 },
  'hand-over, revocation and limits that change or differ': {
    limit: 6,
    largest: 3,
    acts: { ...OPERATIONS, otherLimit: 12 },
  },
  'groups, priorities, heavy requests and stalls': {
    limit: 5,
    largest: 4,
    longestPause: 250,
    orders: [order('a', 3), order('b', 7), order('', 1, 2), order('ü, |', 1000, 9), undefined],
    acts: { stall: 12 },
  },
  'groups, a live limit and losses of data': {
    limit: 5,
    largest: 4,
    orders: [order('a'), order('b', 5), order('', 1, 1), undefined, undefined],
    acts: { ...OPERATIONS, setLimit: 15, stall: 6, lose: 10, stepBack: 5 },
  },
  'a bounded queue, groups and stalls': {
    limit: 3,
    largest: 3,
    maxWaiting: 6,
    orders: [order('a', 2), order('b', 1, 3), undefined],
    acts: { stall: 15, setLimit: 8 },
  },
  'how long to wait, with groups, stalls and losses': {
    limit: 3,
    largest: 4,
    progress: true,
    orders: [order('a', 2), order('b', 1, 3), undefined, undefined],
    acts: { stall: 12, setLimit: 8, lose: 5 },
  },
  'rates of one permit': {
    limit: 1,
    longestPause: 250,
    acts: { otherRate: 8, setRate: 8, release: 40 },
  },
  'a live rate, rates that differ, and losses': {
    limit: 7,
    largest: 3,
    longestPause: 300,
    acts: { ...OPERATIONS, otherRate: 12, setRate: 12, stall: 4, askTogether: 5, lose: 3 },
  },
  'rates, groups and priorities': {
    limit: 4,
    largest: 2,
    longestPause: 300,
    orders: [order('a'), order('b', 5), order('', 1, 3), undefined],
    acts: { otherRate: 8, setRate: 5, stall: 4, stepBack: 0 },
  },
  'caps of groups and a bounded queue': {
    limit: 6,
    largest: 2,
    maxWaiting: 6,
    orders: [order('a'), order('b', 3), order('c', 1, 2), order('a', 1, 2), undefined],
    acts: { otherTerms: 15, setGroupLimit: 5, stall: 8, adopt: 8, revoke: 8, askTogether: 5 },
  },
  'a live cap, a live limit, progress and losses': {
    limit: 5,
    largest: 3,
    progress: true,
    orders: [order('a', 2), order('b'), order('ü, |', 1, 9), undefined, undefined],
    acts: { ...OPERATIONS, otherTerms: 5, setGroupLimit: 15, stall: 6, lose: 6 },
  },
  'budgets and settlements': {
    limit: 9,
    largest: 2,
    longestPause: 250,
    costs: [{ tokens: 40 }, { tokens: 7, 'x-y.z_1': 3 }, undefined, { tokens: 250 }],
    acts: { otherTerms: 10, otherRate: 5, stall: 4, adopt: 8, revoke: 8, stepBack: 0 },
  },
  'live budgets, caps, groups and losses': {
    limit: 5,
    largest: 2,
    longestPause: 300,
    orders: [order('a'), order('b', 5), order('', 1, 3), undefined],
    costs: [{ tokens: 40 }, { tokens: 7, 'x-y.z_1': 3 }, undefined],
    acts: { ...OPERATIONS, otherTerms: 8, setBudget: 8, setGroupLimit: 6, lose: 3, stepBack: 0 },
  },
  'free permits under rules that change': {
    limit: 12,
    longestPause: 25_000,
    orders: [order('a'), order('b', 5), undefined],
    costs: [{ tokens: 4 }, { tokens: 7, 'x-y.z_1': 1 }, undefined],
    acts: { otherTerms: 8, otherRate: 4, setBudget: 4, setGroupLimit: 3, lose: 3, stepBack: 0 },
  },
  'the order of the queue by its model': { ...MODELLED, largest: 4, model: {} },
  'the order by its model, with 1 permit for each group': {
    ...MODELLED,
    model: { groupLimit: 1 },
  },
  'the order by its model, with 2 permits for each group': {
    ...MODELLED,
    largest: 2,
    model: { groupLimit: 2 },
  },
  'free slots and losses of data': { limit: 12, acts: { stall: 5, lose: 6 } },
  'losses of data': { limit: 4, largest: 2, acts: { ...OPERATIONS, lose: 20, stepBack: 5 } },
};

/** Intervals of 0.1 to 300 ms, some of them no whole microseconds. */
const RATES: readonly (Rate | undefined)[] = [
  undefined,
  { permits: 10, per: 1000, burst: 1 },
  { permits: 7, per: 1000, burst: 3 },
  { permits: 100, per: 30_000, burst: 5 },
  { permits: 10_000, per: 1000, burst: 1 },
];

const BUDGETS = ['tokens', 'x-y.z_1', 'a', 'b.c', 'd', 'e'];

const NO_TERMS = { groupLimit: undefined, budgets: undefined };

const TERMS: readonly CallOptions[] = [
  { groupLimit: 2 },
  { groupLimit: 3, budgets: { tokens: { permits: 900, per: 1000, burst: 90 } } },
  {
    groupLimit: 1,
    budgets: {
      tokens: { permits: 70, per: 100, burst: 200 },
      'x-y.z_1': { permits: 10, per: 1000, burst: 1 },
    },
  },
  {},
];

interface Step {
  readonly act: Act;
  readonly member: number;
  /**
   * Operands are picked by number from those at hand, so that a program that fails shrinks well.
   */
  readonly picks: readonly number[];
  /** 0 ≤ dice < 100. */
  readonly dice: number;
}

function programs({ acts }: Habits): fc.Arbitrary<Step[]> {
  const weights = Object.entries({ ...ACTS, ...acts }) as [Act, number][];
  const operands = {
    member: fc.nat(MEMBERS.length - 1),
    picks: fc.array(fc.nat(99), { minLength: 1, maxLength: 4 }),
    dice: fc.nat(99),
  };
  const steps = weights
    .filter(([, weight]) => weight > 0)
    .map(([act, weight]) => ({
      arbitrary: fc.record({ act: fc.constant(act), ...operands }),
      weight,
    }));
  return fc.array(fc.oneof(...steps), { maxLength: 250, size: 'max' });
}

/** What a member knows about its requests. */
interface Mine {
  readonly member: Member;
  readonly waiting: Set<string>;
  readonly held: Set<string>;
}

class Program {
  readonly trace: string[] = [];
  readonly #pair: LockStep;
  readonly #habits: Habits;
  readonly #all: readonly Mine[];
  /** What requests were made with. */
  readonly #orders = new Map<string, RequestOrder | undefined>();
  readonly #costs = new Map<string, Costs | undefined>();
  #made = 0;

  constructor(pair: LockStep, habits: Habits) {
    this.#pair = pair;
    this.#habits = habits;
    this.#all = MEMBERS.map((member) => {
      return { member, waiting: new Set(), held: new Set() };
    });
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      // A reply has the grants of its client alone.
      const mine = this.#all[this.#habits.model === undefined ? step.member : 0];
      if (mine === undefined) continue;
      this.trace.push(JSON.stringify(step));
      await this.#do(step, mine);
      await this.#pair.inspect(this.trace.at(-1) ?? '');
    }
  }

  /** All is given back: nothing is left once the revoked tickets are forgotten. */
  async end(): Promise<void> {
    for (const mine of this.#all) await this.#release(mine, [...mine.held, ...mine.waiting]);
    this.#pair.pass(60_000);
    for (const { member } of this.#all) await this.#pair.release(member, ['never.1'], true);
    await this.#pair.inspect('the end');
    await this.#pair.end();
  }

  async #do({ act, picks, dice }: Step, mine: Mine): Promise<void> {
    const { member, held, waiting } = mine;
    const { longestPause = 150, limit } = this.#habits;
    const pair = this.#pair;
    const [first = 0] = picks;
    // At its time a call is in time, a microsecond later it is late.
    const late = dice < 20 ? pair.now - (dice % 2) / 1000 : undefined;
    const rate = RATES[first % RATES.length];
    const known = this.#anyId(first);
    switch (act) {
      case 'ask':
        return this.#ask(mine, picks, dice);
      case 'askAgain':
        return this.#askAgain(mine, picks, dice);
      case 'askLate': {
        const asks: Ask[] = [...again(waiting), { id: `${member.name}.late`, how: 'wait' }];
        await pair.acquire(member, asks, pair.now - 0.5);
        return;
      }
      case 'askTogether': {
        // Now and then a call that runs twice.
        const ofOne = [...held].filter((id) => parseTicketId(id)?.permits === 1);
        const id = dice < 70 ? this.#newId(mine, 1) : (ofOne[first] ?? this.#newId(mine, 1));
        if (await pair.acquireTogether(member, id, late)) held.add(id);
        return;
      }
      case 'extend': {
        const ids = some([...held, ...waiting], picks, 0.7);
        return ids.length === 0 ? undefined : pair.extend(member, ids, dice < 10);
      }
      case 'release': {
        const share = dice < 20 ? 1 : 0.5;
        const given = [...some([...held], picks, share), ...some([...waiting], picks, 0.2)];
        return this.#release(mine, dice % 10 === 0 ? [...given, ...given] : given, first);
      }
      case 'adopt':
        return this.#adopt(mine, known, dice, late);
      case 'revoke':
        return pair.change(member, late, (one, options) => one.revoke(known, options));
      case 'setLimit':
        // Some remove the stored limit.
        return pair.change(member, late, (one, options) =>
          one.setLimit(dice < 25 ? undefined : first % (limit + 1), options),
        );
      case 'addPermits':
        // Some are sent twice.
        return pair.change(member, late, (one, options) =>
          one.addPermits((first % 5) - 2, `${member.name}.${dice % 8}`, options),
        );
      case 'otherLimit':
        return pair.use(member, { limit: 1 + (first % limit) });
      case 'otherRate':
        return pair.use(member, { rate });
      case 'setRate':
        return pair.change(member, late, (one, options) => one.setRate(rate, options));
      case 'otherTerms':
        return pair.use(member, { ...NO_TERMS, ...TERMS[first % TERMS.length] });
      case 'setGroupLimit':
        return pair.change(member, late, (one, options) =>
          one.setGroupLimit(dice < 25 ? undefined : 1 + (first % limit), options),
        );
      case 'setBudget':
        // More names than may count.
        return pair.change(member, late, (one, options) =>
          one.setBudget(BUDGETS[dice % 6] ?? '', rate, options),
        );
      case 'pass':
        return pair.pass(Math.round((longestPause * 4 * first) / 99) / 4);
      case 'stall':
        return pair.pass(500 + 65 * first);
      case 'stepBack':
        // All waiters have a lease.
        for (const each of this.#all) await this.#askAgain(each, [], 99);
        return pair.stepBack(10 * first);
      case 'lose': {
        const losses: Loss[] = ['everything', 'tickets', 'queue', 'groups'];
        const asked = this.#all.flatMap((each) => [...each.waiting]);
        return pair.lose(losses[first % losses.length] ?? 'queue', asked);
      }
    }
  }

  async #ask(mine: Mine, picks: readonly number[], dice: number): Promise<void> {
    const { largest = 1, batch = 1, orders = [undefined], costs = [undefined] } = this.#habits;
    const isModelled = this.#habits.model !== undefined;
    const wanted = isModelled
      ? picks.slice(0, 1)
      : dice < 50
        ? picks.flatMap((pick) => Array(batch).fill(pick) as number[])
        : picks;
    const asks = wanted.map((pick, i): Ask => {
      // Now and then more than the limit.
      const id = this.#newId(mine, 1 + (pick % largest));
      this.#orders.set(id, orders[(pick + dice + i) % orders.length]);
      this.#costs.set(id, costs[(pick + dice + i) % costs.length]);
      return { id, how: i > wanted.length * 0.7 ? 'try' : 'wait' };
    });
    // A process asks again for all that it waits for; new requests may travel with those.
    const known = dice % 5 < 2 ? again(mine.waiting) : [];
    const twice = dice < 5 ? asks.slice(0, 1) : [];
    // Some travel alone: a free permit is granted by a usual path.
    const calls =
      isModelled || dice % 3 === 0 ? asks.map((ask) => [ask]) : [[...known, ...asks, ...twice]];
    for (const call of calls) await this.#acquire(mine, call);
  }

  /** A call that runs twice: also for tickets that are held already. */
  async #askAgain(mine: Mine, picks: readonly number[], dice: number): Promise<void> {
    const asks = [...again(mine.waiting), ...again(some([...mine.held], picks, 0.1))];
    for (let time = dice < 20 ? 2 : 1; time > 0 && asks.length > 0; time -= 1) {
      await this.#acquire(mine, asks);
    }
  }

  async #acquire(mine: Mine, asks: readonly Ask[]): Promise<void> {
    const full = asks.map((ask) => {
      const asksProgress = this.#habits.progress === true && ask.id.length % 2 === 0;
      const [given, cost] = [this.#orders.get(ask.id), this.#costs.get(ask.id)];
      return { ...ask, order: given, cost, asksProgress };
    });
    const { verdicts } = await this.#pair.acquire(mine.member, full);
    asks.forEach(({ id }, i) => {
      const kind = verdicts[i]?.kind;
      if (kind === 'queued') mine.waiting.add(id);
      else mine.waiting.delete(id);
      if (kind === 'granted') mine.held.add(id);
    });
  }

  async #release(mine: Mine, ids: readonly string[], pick = 0): Promise<void> {
    // Some say what they have spent: less, the same, or more.
    const spent = ids.map((_, i) =>
      this.#habits.costs === undefined || (pick + i) % 3 === 0 ? undefined : { tokens: pick },
    );
    // A ticket that is given back alone takes the usual paths.
    const asked = ids.length === 1 ? ids : [...ids, 'never.1'];
    const calls = this.#habits.model === undefined ? [asked] : ids.map((id) => [id]);
    const knowsLimit = ids.length < 2 || ids.length % 2 === 0 || calls[0] !== asked;
    for (const call of calls) await this.#pair.release(mine.member, call, knowsLimit, spent);
    for (const id of ids) for (const list of [mine.held, mine.waiting]) list.delete(id);
  }

  async #adopt(mine: Mine, id: string, dice: number, late: number | undefined): Promise<void> {
    const own = this.#newId(mine, 1);
    for (let time = dice > 80 ? 2 : 1; time > 0; time -= 1) {
      const newId = await this.#pair.adopt(mine.member, id, own, late);
      if (newId !== undefined) mine.held.add(newId);
    }
  }

  #newId({ member }: Mine, permits: number): string {
    this.#made += 1;
    return ticketId(member.name, this.#made, permits);
  }

  /** Also of a ticket that has expired, was released or adopted, or of a request. */
  #anyId(pick: number): string {
    const known = this.#all.flatMap(({ held, waiting }) => [...held, ...waiting]);
    return known[known.length - 1 - (pick % (known.length + 1))] ?? 'never.1';
  }
}

function again(ids: Iterable<string>): Ask[] {
  return [...ids].map((id) => ({ id, how: 'again' }));
}

/** About that share of them. */
function some(list: readonly string[], picks: readonly number[], share: number): string[] {
  return list.filter((_, i) => ((picks[i % picks.length] ?? 0) * (i + 1)) % 100 < 100 * share);
}

describeWithServer('memory backend and Redis backend in lock-step', (server) => {
  let redis: RedisFixture;
  let pushes: Pushes;
  let programsRun = 0;

  before('one subscription for each member, for all programs', async () => {
    redis = new RedisFixture(server());
    pushes = new Pushes(redis, MEMBERS);
    await pushes.open();
  });
  after(closeFixtures);

  for (const [what, habits] of Object.entries(HABITS)) {
    it(`say the same with ${what}`, async () => {
      const property = fc.asyncProperty(programs(habits), async (steps) => {
        await run(habits, steps);
      });
      await check(property, 4);
    });
  }

  async function run(habits: Habits, steps: readonly Step[]): Promise<void> {
    programsRun += 1;
    redis.moveTo(`program-${programsRun}`, habits.limit);
    redis.time.now = START;
    const pair = new LockStep(redis, MEMBERS);
    pair.maxWaiting = habits.maxWaiting;
    pair.isRuled = Object.keys(habits.acts ?? {}).some((act) =>
      /Rate|Terms|Budget|Group/.test(act),
    );
    if (habits.model !== undefined) {
      const { groupLimit } = habits.model;
      pair.model = new ModelSide(habits.limit, groupLimit);
      for (const member of MEMBERS) pair.use(member, { groupLimit });
    }
    pushes.reader = pair.redis;
    const program = new Program(pair, habits);
    try {
      await program.run(steps);
      await program.end();
      await pushes.allIn();
      pair.comparePushes();
    } catch (error) {
      throw new Error(`${program.trace.slice(-20).join('\n')}\n${String(error)}`, { cause: error });
    }
  }
});
