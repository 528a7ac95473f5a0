import { RandomNumbers } from '../../../test/support/random-numbers.js';
import type { FaultKind } from '../../history/fault-effects.js';

/** A fault to come. All times in milliseconds. */
export interface PlannedFault {
  /** From the start of the run; a late fault delays the faults after it. */
  readonly at: number;
  readonly kind: FaultKind;
  readonly lasts: number;
  /** Indexes of the workers that it strikes; left out: all. */
  readonly workers?: readonly number[];
  /** By how much the server's clock is moved. */
  readonly step?: number;
  /** Which part of the semaphore's keys is deleted. */
  readonly key?: string;
  /** By how much bytes are delayed, in each direction. */
  readonly delay?: number;
  /** Which of several independent masters it strikes. */
  readonly node?: number;
}

/** Takes a fault away again. */
export type Undo = () => Promise<void>;

export interface PlanOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly kinds: readonly FaultKind[];
  readonly workers: number;
  readonly ttl: number;
  /** How many independent masters there are. */
  readonly nodes: number;
}

const KEYS = ['tickets', 'info', 'queue', 'requests', 'clients', 'slots'];

/** Milliseconds by which the server's clock is moved: it is never further off than that. */
const CLOCK_STEP = 5000;

/** The faults of a run. Every kind comes once, in random order, before any comes again. */
export function planFaults(options: PlanOptions): PlannedFault[] {
  const random = new RandomNumbers(options.seed);
  const end = options.minutes * 60_000;
  const plan: PlannedFault[] = [];
  let deck: FaultKind[] = [];
  let clock = 0;
  for (let at = options.ttl; ;) {
    if (deck.length === 0) deck = shuffled(options.kinds, random);
    const kind = deck.pop();
    if (kind === undefined) return plan;
    const step = kind === 'step-clock' ? pickStep(clock, random) : undefined;
    const details = options.nodes === 1 ? detailsOf : detailsOfOneNode;
    const fault = { at, kind, ...details(kind, options, random), ...(step && { step }) };
    if (at + fault.lasts > end) return plan;
    plan.push(fault);
    clock += step ?? 0;
    // Renewals must put the tickets of one node back before a fault strikes another node.
    at += fault.lasts + (options.nodes === 1 ? 0 : options.ttl) + random.between(200, 1500);
  }
}

function pickStep(clock: number, random: RandomNumbers): number {
  if (clock !== 0) return -clock;
  return random.chance(0.5) ? CLOCK_STEP : -CLOCK_STEP;
}

type Details = Omit<PlannedFault, 'at' | 'kind' | 'step'>;

function detailsOf(kind: FaultKind, { workers, ttl }: PlanOptions, random: RandomNumbers): Details {
  const one = [random.between(0, workers - 1)];
  const some = someOf(workers, random);
  const lasts = random.between(200, Math.round(2.5 * ttl));
  const strike = { lasts: 0 };
  const details: Record<FaultKind, Details> = {
    'kill-process': { lasts: 0, workers: one },
    'stop-process': { lasts: random.between(ttl + 100, 3 * ttl), workers: one },
    'stall-loop': { lasts: random.between(ttl + 100, 4 * ttl), workers: one },
    'restart-with-data': { lasts: random.between(20, ttl) },
    'restart-empty': { lasts: random.between(20, ttl) },
    'stop-server': { lasts },
    'pause-clients': { lasts },
    'fail-over': { lasts },
    'move-slot': { lasts },
    delay: { lasts, delay: random.between(10, 150), ...some },
    hang: { lasts, ...some },
    'swallow-requests': { lasts, ...some },
    'swallow-replies': { lasts, ...some },
    split: { lasts, ...some },
    cut: { lasts: 0, ...some },
    'delete-key': { lasts: 0, key: random.pick(KEYS) },
    'kill-clients': strike,
    'forget-scripts': strike,
    'flush-data': strike,
    'step-clock': strike,
  };
  return details[kind];
}

/** A node that loses its data stays away until no holder believes in a ticket of it. */
function detailsOfOneNode(kind: FaultKind, options: PlanOptions, random: RandomNumbers): Details {
  const details = detailsOf(kind, options, random);
  const node = random.between(0, options.nodes - 1);
  if (kind === 'kill-process' || kind === 'stop-process') return details;
  const lasts = kind === 'restart-empty' ? Math.round(1.2 * options.ttl) : details.lasts;
  return { ...details, lasts, node };
}

function someOf(workers: number, random: RandomNumbers): Pick<PlannedFault, 'workers'> {
  const all = Array.from({ length: workers }, (_, worker) => worker);
  const some = random.some(all, 0.5);
  return some.length === 0 ? {} : { workers: some };
}

function shuffled<T>(list: readonly T[], random: RandomNumbers): T[] {
  const left = [...list];
  return list.flatMap(() => left.splice(random.between(0, left.length - 1), 1));
}

export function describeFault(fault: PlannedFault): string {
  const { at, kind, lasts, ...more } = fault;
  const when = `${(at / 1000).toFixed(1).padStart(7)} s`;
  const time = lasts > 0 ? `${lasts} ms` : '';
  const details = Object.entries(more).map(([name, value]) => `${name} ${String(value)}`);
  return [when, kind.padEnd(18), time.padStart(8), details.join('; ')].join('  ').trimEnd();
}
