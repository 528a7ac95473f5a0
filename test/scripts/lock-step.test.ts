import * as fc from 'fast-check';

import { check } from '../random/reproducible.js';
import { describeWithServer } from '../support/require-server.js';
import { Pushes } from './lock-step.js';
import { closeFixtures, ofGroup, RedisFixture } from './port-fixture.js';
import { type Habits, MEMBERS, Program, type Step } from './random-program.js';

const START = 1_795_236_819_680;

/** The calls of every program, and how often. */
const USUAL: Habits['acts'] = {
  ask: 30,
  askAgain: 20,
  extend: 15,
  release: 25,
  askLate: 4,
  askTogether: 3,
  pass: 60,
  stall: 3,
  stepBack: 1,
  lose: 1,
};

/** What some programs have beside. */
const TRAITS: Readonly<Record<string, Partial<Habits>>> = {
  'one permit': { limit: 1, largest: 1 },
  'large calls': { limit: 60, longestPause: 60, batch: 9 },
  'hand-over, revocation and a live limit': {
    acts: { adopt: 30, revoke: 20, setLimit: 8, addPermits: 8 },
  },
  'limits that differ': { acts: { otherLimit: 12 } },
  'groups and priorities': {
    largest: 4,
    orders: [
      ofGroup('a', 3),
      ofGroup('b', 7),
      ofGroup('', 1, 2),
      ofGroup('ü, |', 999, 9),
      undefined,
    ],
  },
  'how long to wait': { progress: true },
  'a bounded queue': { maxWaiting: 6 },
  rates: { longestPause: 300, acts: { otherRate: 12, setRate: 8 } },
  'group limits': { acts: { otherTerms: 15, setGroupLimit: 8 } },
  budgets: {
    limit: 9,
    costs: [
      { tokens: 40 },
      { tokens: 7, 'x-y.z_1': 3 },
      undefined,
      { tokens: 250 },
      { slow: 1000 },
    ],
    acts: { otherTerms: 10, setBudget: 8 },
  },
  stalls: { acts: { stall: 12 } },
  'losses of data': { acts: { lose: 12, stepBack: 4 } },
};

/** Habits with these traits. */
function habitsOf(names: readonly string[], drawn: Habits): Habits {
  const all = names.map((name) => TRAITS[name] ?? {});
  const habits = all.reduce<Habits>(
    (sum, trait) => ({ ...sum, ...trait, acts: { ...sum.acts, ...trait.acts } }),
    drawn,
  );
  // Only one side remembers for longer what a later clock had given back.
  const { orders, costs, acts } = habits;
  const isRated = 'otherRate' in acts || 'otherTerms' in acts;
  const isSure = costs === undefined && !(orders !== undefined && isRated);
  return isSure ? habits : { ...habits, acts: { ...habits.acts, stepBack: 0 } };
}

/** The trait, and others at random. */
function habitsWith(trait: string): fc.Arbitrary<Habits> {
  const drawn = fc.record({
    limit: fc.constantFrom(3, 4, 5, 7, 12),
    largest: fc.constantFrom(1, 1, 2, 3),
    longestPause: fc.constantFrom(150, 150, 250, 400, 25_000, 400_000),
    acts: fc.constant(USUAL),
  });
  const others = fc.subarray(Object.keys(TRAITS), { maxLength: 3 });
  return fc.tuple(others, drawn).map(([names, habits]) => habitsOf([...names, trait], habits));
}

/** Calls of one request each, whose order the model knows. */
function modelled(groupLimit?: number): Habits {
  const orders = ['', '', 'a', 'b', 'c', 'a b;|'].flatMap((group) =>
    (group === '' ? [1] : [1, 2, 3, 1000]).flatMap((weight) =>
      [0, 0, 0, 1, 9].map((priority) => ofGroup(group, weight, priority)),
    ),
  );
  const acts = { ask: 60, release: 50, askAgain: 5, extend: 5 };
  const model = groupLimit === undefined ? {} : { groupLimit };
  return { limit: 4, largest: groupLimit ?? 4, longestPause: 0, orders, model, acts };
}

const STEPS: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    act: fc.nat(9999),
    member: fc.nat(Object.keys(MEMBERS).length - 1),
    picks: fc.array(fc.nat(99), { minLength: 1, maxLength: 4 }),
    dice: fc.nat(99),
  }),
  { maxLength: 250, size: 'max' },
);

describeWithServer('memory backend and Redis backend in lock-step', (server) => {
  let redis: RedisFixture;
  let pushes: Pushes;
  let programsRun = 0;

  before('one subscription for each member, for all programs', async () => {
    redis = new RedisFixture(server());
    pushes = new Pushes(redis);
    await pushes.open(Object.keys(MEMBERS));
  });
  after(closeFixtures);

  for (const trait of Object.keys(TRAITS)) {
    it(`say the same with ${trait}, and whatever else`, async () => {
      await check(fc.asyncProperty(habitsWith(trait), STEPS, run), 6);
    });
  }

  for (const groupLimit of [undefined, 1, 2]) {
    it(`say the order of its model, with ${groupLimit ?? 'any number of'} permits for each group`, async () => {
      await check(fc.asyncProperty(fc.constant(modelled(groupLimit)), STEPS, run), 5);
    });
  }

  async function run(habits: Habits, steps: readonly Step[]): Promise<void> {
    programsRun += 1;
    redis.moveTo(`program-${programsRun}`, habits.limit);
    redis.time.now = START;
    const program = new Program(redis, habits);
    pushes.reader = program.redis;
    try {
      await program.run(steps);
      await program.end();
      await pushes.allIn();
      program.comparePushes();
    } catch (error) {
      const trace = program.trace.slice(-20).join('\n');
      throw new Error(`${trace}\n${String(error)}`, { cause: error });
    }
  }
});
