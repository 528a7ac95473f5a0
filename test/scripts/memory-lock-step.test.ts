import { expect } from 'chai';
import { Redis } from 'ioredis';

import { WAITER_LEASE } from '../../src/backend.js';
import { ioredisConnection } from '../../src/redis/adapters/ioredis.js';
import type { RedisConnection } from '../../src/redis/connection.js';
import { RedisBackend } from '../../src/redis/redis-backend.js';
import { adoptedId } from '../../src/ticket-id.js';
import { eventually } from '../support/eventually.js';
import { describeWithServer } from '../support/require-server.js';
import { type Ask, LockStep, type Member } from './lock-step.js';
import { RandomNumbers } from '../support/random-numbers.js';

const MEMBERS: readonly Member[] = [
  { name: 'a', ttl: 5000, label: 'first member; a|b' },
  { name: 'b', ttl: 800, label: '' },
  { name: 'c', ttl: 2500.25, label: 'ü' },
  { name: 'd', ttl: 30_000, label: 'd' },
];

/** What one random program does; see `Program.step`. */
interface Habits {
  readonly limit: number;
  readonly largest: number;
  readonly longestPause: number;
  /** How often a step is followed by a pause in which leases lapse. */
  readonly stalls: number;
  /** How often the limit changes. */
  readonly limits: number;
  /** How often a step is a hand-over, a revocation or a stored limit. */
  readonly operations?: number;
  /** How often a member comes back with a limit of its own. */
  readonly otherLimits?: number;
}

const HABITS: Readonly<Record<string, Habits>> = {
  'one permit, no stalls': { limit: 1, largest: 1, longestPause: 200, stalls: 0, limits: 0 },
  'few permits, many waiters': { limit: 3, largest: 1, longestPause: 150, stalls: 0.01, limits: 0 },
  'weights and stalls': { limit: 7, largest: 4, longestPause: 400, stalls: 0.04, limits: 0 },
  'wide and fast': { limit: 40, largest: 9, longestPause: 30, stalls: 0.01, limits: 0 },
  'a limit that moves': { limit: 5, largest: 5, longestPause: 250, stalls: 0.02, limits: 0.02 },
  'limits that differ': {
    limit: 5,
    largest: 4,
    longestPause: 200,
    stalls: 0.02,
    limits: 0.01,
    otherLimits: 0.1,
  },
  'hand-over and revocation of one permit': {
    limit: 1,
    largest: 1,
    longestPause: 400,
    stalls: 0.05,
    limits: 0,
    operations: 0.4,
  },
  'hand-over, revocation and a live limit': {
    limit: 6,
    largest: 3,
    longestPause: 150,
    stalls: 0.02,
    limits: 0,
    operations: 0.3,
    otherLimits: 0.05,
  },
};

const STEPS = 400;

/** What a member knows of its own requests. */
interface Mine {
  readonly waiting: Set<string>;
  readonly held: Set<string>;
  /** When a call last left requests of it in the queue. */
  queuedAt: number;
}

class Program {
  readonly #pair: LockStep;
  readonly #random: RandomNumbers;
  readonly #habits: Habits;
  /** Ids of each member: those that wait and those that were granted, as far as it knows. */
  readonly #mine = new Map<string, Mine>();
  readonly #trace: string[] = [];
  #made = 0;

  constructor(pair: LockStep, random: RandomNumbers, habits: Habits) {
    this.#pair = pair;
    this.#random = random;
    this.#habits = habits;
    for (const { name } of MEMBERS) {
      this.#mine.set(name, { waiting: new Set(), held: new Set(), queuedAt: -Infinity });
    }
  }

  /** The last steps, to tell what went before a difference. */
  get trace(): string {
    return this.#trace.slice(-12).join('\n');
  }

  async step(): Promise<void> {
    const random = this.#random;
    const member = random.pick(MEMBERS);
    const draw = random.next();
    const { operations = 0, otherLimits = 0, limit } = this.#habits;
    if (operations > 0 && random.chance(operations)) await this.#operate(member);
    else if (draw < 0.35) await this.#ask(member, random.between(1, 4));
    else if (draw < 0.55) await this.#askAgain(member);
    else if (draw < 0.7) await this.#extend(member);
    else if (draw < 0.95) await this.#release(member);
    else await this.#askLate(member);
    await this.#letTimePass();
    if (random.chance(this.#habits.limits))
      this.#pair.limit = random.between(1, this.#habits.limit);
    if (otherLimits > 0 && random.chance(otherLimits)) {
      this.#pair.limits.set(member.name, random.between(1, limit));
    }
    const { holders, held } = await this.#pair.inspect();
    const slots = holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size).to.equal(held);
  }

  async #ask(member: Member, count: number): Promise<void> {
    const asks = Array.from({ length: count }, (_, i): Ask => {
      // Now and then more than the limit.
      const permits = this.#random.between(1, this.#habits.largest);
      this.#made += 1;
      const id = `${member.name}.${this.#made.toString(36)}`;
      return {
        id: permits === 1 ? id : `${id}.${permits}`,
        how: i > count * 0.7 ? 'try' : 'wait',
      };
    });
    // A process asks again for all that it waits for; new requests may travel with those. Once its lease
    // as a waiter is over, a backend is free to have dropped some, all or none of them.
    const lapsed = this.#pair.clock.monotonic() - this.#of(member.name).queuedAt >= WAITER_LEASE;
    const known = lapsed || this.#random.chance(0.4) ? this.#waiting(member) : [];
    await this.#acquire(member, [...known, ...asks]);
  }

  async #askAgain(member: Member): Promise<void> {
    const asks = this.#waiting(member);
    // A call that runs twice: also for what is held already.
    const held = this.#random.some([...this.#of(member.name).held], 0.1);
    asks.push(...held.map((id): Ask => ({ id, how: 'again' })));
    if (asks.length === 0) return;
    await this.#acquire(member, asks);
    if (this.#random.chance(0.2)) await this.#acquire(member, asks);
  }

  async #askLate(member: Member): Promise<void> {
    const asks = [...this.#waiting(member), { id: `${member.name}.late`, how: 'wait' } as const];
    this.#note(`${member.name} asks late`);
    await this.#pair.acquire(member, asks, this.#pair.clock.wall() - 0.5);
  }

  async #acquire(member: Member, unsorted: readonly Ask[]): Promise<void> {
    const asks = this.#pair.sorted(unsorted);
    this.#note(`${member.name} asks ${asks.map(({ id, how }) => `${id} ${how}`).join(', ')}`);
    const { verdicts } = await this.#pair.acquire(member, asks);
    const mine = this.#of(member.name);
    asks.forEach(({ id }, i) => {
      const kind = verdicts[i]?.kind;
      if (kind === 'queued') mine.queuedAt = this.#pair.clock.monotonic();
      if (kind === 'queued') mine.waiting.add(id);
      else mine.waiting.delete(id);
      if (kind === 'granted') mine.held.add(id);
    });
  }

  async #extend(member: Member): Promise<void> {
    const mine = this.#of(member.name);
    const ids = this.#random.some([...mine.held, ...mine.waiting], 0.7);
    if (ids.length === 0) return;
    this.#note(`${member.name} extends ${ids.join(', ')}`);
    await this.#pair.extend(member, ids);
  }

  async #release(member: Member): Promise<void> {
    const mine = this.#of(member.name);
    const ids = this.#random.some([...mine.held], 0.5);
    ids.push(...this.#random.some([...mine.waiting], 0.2), 'never.1');
    this.#note(`${member.name} releases ${ids.join(', ')}`);
    await this.#pair.release(member, ids);
    for (const id of ids) {
      mine.held.delete(id);
      mine.waiting.delete(id);
    }
  }

  async #operate(member: Member): Promise<void> {
    const random = this.#random;
    const draw = random.next();
    if (draw < 0.1) {
      const limit = random.between(1, this.#habits.limit);
      this.#note(`${member.name} sets the limit to ${limit}`);
      await this.#pair.setLimit(member, limit);
      return;
    }
    // Also what has expired, was released, was adopted before, or still waits.
    const known = MEMBERS.flatMap(({ name }) => {
      const { held, waiting } = this.#of(name);
      return [...held, ...waiting];
    });
    const id = known.length === 0 ? 'never.1' : random.pick(known);
    if (draw < 0.55) await this.#adopt(member, id);
    else {
      this.#note(`${member.name} revokes ${id}`);
      await this.#pair.revoke(member, id);
    }
  }

  async #adopt(member: Member, id: string): Promise<void> {
    this.#made += 1;
    const newId = adoptedId(`${member.name}.${this.#made.toString(36)}`, id);
    this.#note(`${member.name} adopts ${id} as ${newId}`);
    const found = await this.#pair.adopt(member, id, newId);
    if (found) this.#of(member.name).held.add(newId);
    // A call that runs twice.
    if (this.#random.chance(0.2)) await this.#pair.adopt(member, id, newId);
  }

  async #letTimePass(): Promise<void> {
    const { longestPause, stalls } = this.#habits;
    const stall = this.#random.chance(stalls) ? this.#random.between(500, 7000) : 0;
    const pause = stall + this.#random.between(0, longestPause * 4) / 4;
    this.#note(`${pause} ms pass`);
    await this.#pair.clock.advance(pause);
  }

  #waiting(member: Member): Ask[] {
    return [...this.#of(member.name).waiting].map((id) => ({ id, how: 'again' }));
  }

  #of(member: string): Mine {
    const mine = this.#mine.get(member);
    if (mine === undefined) throw new Error(`${member} is no member`);
    return mine;
  }

  #note(what: string): void {
    this.#trace.push(what);
  }
}

/** A new seed stands in none of these. */
const SEEDS: Record<string, number> = {
  'a known seed': 20_240_607,
  'a seed that once failed': 537_663_896,
  'another that once failed': 197_540_139,
  'one that asked twice in a call': 811_131_981,
  'one with another limit after all had expired': 1_891_171_708,
};

describeWithServer('memory backend and Redis backend in lock-step', (server) => {
  let redis: Redis;
  let connection: RedisConnection;

  before(() => {
    redis = new Redis(server().port, '127.0.0.1');
    // The server stops first.
    redis.on('error', () => {});
    connection = ioredisConnection(redis);
  });
  after(() => redis.disconnect());

  const { REDSEM_SEED } = process.env;
  const kinds = [...Object.keys(SEEDS), ...(REDSEM_SEED === undefined ? [] : ['a new seed'])];

  for (const [what, habits] of Object.entries(HABITS)) {
    for (const kind of kinds) {
      it(`say the same with ${what}, from ${kind}`, async () => {
        const fresh = REDSEM_SEED === 'fresh' ? Math.floor(Math.random() * 2 ** 31) : REDSEM_SEED;
        const random = new RandomNumbers(SEEDS[kind] ?? Number(fresh));
        await run(`${what} ${kind}`, random, habits);
      });
    }
  }

  async function run(name: string, random: RandomNumbers, habits: Habits): Promise<void> {
    const backend = (time: () => number): RedisBackend =>
      new RedisBackend({ ...connection, serverClock: time });
    const pair = new LockStep(backend, `${name} ${random.seed}`, habits.limit);
    const ends = await Promise.all(
      [pair.memory, pair.redis].flatMap((side) => MEMBERS.map((member) => side.listen(member))),
    );
    const program = new Program(pair, random, habits);
    let step = 0;
    try {
      for (; step < STEPS; step++) await program.step();
      pair.compareOrder();
      // Pushes of the last calls may still be on their way.
      await eventually(() => isSame(pair));
      expect(pair.redis.pushes, 'pushed grants').to.deep.equal(pair.memory.pushes);
      expect(pair.redis.ended, 'tickets taken').to.deep.equal(pair.memory.ended);
    } catch (error) {
      const where = `step ${step} of "${name}", REDSEM_SEED=${random.seed}`;
      throw new Error(`${where}\n${program.trace}\n${String(error)}`, { cause: error });
    } finally {
      await Promise.all(ends.map((end) => end()));
    }
  }

  function isSame(pair: LockStep): boolean {
    const told = ({ pushes, ended }: LockStep['redis']): string =>
      JSON.stringify([[...pushes], [...ended]]);
    return told(pair.redis) === told(pair.memory);
  }
});
