import type { BudgetOptions } from '../../../src/index.js';
import type { RateSettings, SemaphoreSettings } from '../../history/events.js';
import { type Random, streamOf } from '../random.js';
import type { Settings } from '../settings.js';

/** The work of the processes of a seed. */
export interface Workload {
  readonly semaphores: readonly SemaphoreSettings[];
  /** Keys of the keyed mutex. */
  readonly keys: readonly string[];
  readonly keyedTtl: number;
  /** Most requests have a group that was never used before. */
  readonly newcomers: boolean;
  /** Callers in each process. */
  readonly callers: number;
  /** The mean time between two calls of a caller, and for which a permit is held; milliseconds. */
  readonly think: number;
  readonly hold: number;
  /** The relative frequency of each kind of call. */
  readonly weights: Readonly<Partial<Record<CallKind, number>>>;
}

export type CallKind =
  | 'acquire'
  | 'try'
  | 'all'
  | 'keyed'
  | 'adopt'
  | 'revoke'
  | 'set-limit'
  | 'set-rules'
  | 'inspect'
  | 'reopen'
  | 'burst';

export function drawWorkload(settings: Settings): Workload {
  const { seed, nodes, pace, moved, newcomers = false, budgets = false } = settings;
  const groups = settings.groups === true || newcomers || budgets;
  const random = streamOf(seed, 'workload');
  // A process may use the new list alone a ttl after the last call with the old list.
  const ttl = random.pick(moved === true ? [400, 1000, 3000] : [400, 1000, 3000, 10_000, 30_000]);
  const single = nodes === 1;
  const sometimes = (weight: number): number => (random.chance(0.5) ? weight : 0);
  const order = groups ? { groups } : {};
  const paces = budgets ? [30, 200, 1000] : [30, 200, 1000, 4000];
  const think = pace === undefined ? random.pick(paces) : pace * 1000;
  const semaphores = [
    { name: 'pool', limit: random.between(1, 4), ttl, ...order },
    { name: 'mutex', limit: 1, ttl, ...order },
    { name: 'wide', limit: random.between(3, 8), ttl: random.chance(0.5) ? ttl : 5000, ...order },
  ];
  const asked = (1000 / think) * (settings.processes / 2);
  return {
    semaphores: budgets
      ? semaphores.map((each) => ({ ...each, ...paid(seed, each, asked) }))
      : semaphores,
    keys: ['a', 'b', 'c', 'd'],
    keyedTtl: ttl,
    newcomers,
    // A stream of newcomers never ends: many always wait.
    callers: newcomers ? 6 : random.between(1, 3),
    think,
    hold: (newcomers ? 2 : random.pick([1, 0.3, 0.1])) * think,
    weights: {
      acquire: 10,
      try: sometimes(3),
      all: sometimes(1),
      keyed: sometimes(2),
      adopt: single ? sometimes(1) : 0,
      revoke: single ? sometimes(0.5) : 0,
      'set-limit': single ? sometimes(0.3) : 0,
      'set-rules': budgets ? 0.7 : 0,
      inspect: sometimes(0.5),
      reopen: sometimes(0.3),
      burst: sometimes(1),
    },
  };
}

/** Units that a request costs of a budget, mostly. */
export const MOST_COST = 20;

/** `asked`: permits a second. Rate, budgets and group limit allow about as many, or fewer. */
function paid(seed: number, { name, limit }: SemaphoreSettings, asked: number) {
  if (name === 'mutex') return {};
  const random = streamOf(seed, 'budgets', name);
  const budget = (): RateSettings => drawRate(random, (asked * MOST_COST) / 2);
  return {
    ...(random.chance(0.7) && { rate: drawRate(random, asked) }),
    budgets: { tokens: budget(), bytes: budget() },
    ...(random.chance(0.7) && { groupLimit: random.between(1, limit) }),
  };
}

/** `mean`: units a second. */
export function drawRate(random: Random, mean: number): RateSettings {
  const per = random.pick([300, 1000, 4000]);
  const permits = Math.ceil(((mean * per) / 1000) * random.real(0.2, 1.2));
  return { permits, per, burst: Math.ceil(permits * random.pick([0.2, 1, 1, 2])) };
}

export function budgetOf(rate: RateSettings): BudgetOptions;
export function budgetOf(rate: RateSettings | undefined): BudgetOptions | undefined;
export function budgetOf(rate: RateSettings | undefined): BudgetOptions | undefined {
  return rate && { amount: rate.permits, per: rate.per, burst: rate.burst };
}
