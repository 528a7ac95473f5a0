import { type Random, streamOf } from '../random.js';
import type { Settings } from '../settings.js';
import { CLOCKS_OFF, nodesIn } from '../world/move.js';
import { FAULTS, type FaultKind, isServerFault } from './kinds.js';

/** One fault of a seed's schedule. Times are milliseconds. */
export interface PlannedFault {
  readonly number: number;
  readonly kind: FaultKind;
  readonly at: number;
  readonly duration: number;
  /** Which process, or which of several servers. */
  readonly target: number;
  /** From 0 to 1: the kind makes a probability, a delay or a step of it. */
  readonly force: number;
}

/** The share of seeds without a fault: some alarms need a run in which nothing is wrong. */
const CALM = 0.12;

/** A run that asks for no more kinds of faults than this has all of them. */
const FEW = 3;

/**
 * A seed has some kinds of faults and not others: together they would hide each other's effects.
 */
export function planFaults(settings: Settings, ttl: number, longestTtl: number): PlannedFault[] {
  const { seed, minutes, processes, faults, moved } = settings;
  const nodes = nodesIn(settings);
  const random = streamOf(seed, 'plan');
  const end = minutes * 60_000;
  const calm = random.chance(CALM);
  const kinds = FAULTS.filter((kind) => {
    const chosen = random.chance(0.35) || faults.length <= FEW;
    return chosen && faults.includes(kind) && !(nodes > 1 && isForbiddenForNodes(kind));
  });
  const gap = random.pick([1500, 4000, 8000, 20_000]);
  const plan: PlannedFault[] = [];
  if (calm || kinds.length === 0) return plan;
  for (let at = random.exponential(gap); at < end; at += random.exponential(gap)) {
    const kind = random.pick(kinds);
    const target = random.between(0, (isServerFault(kind) ? nodes : processes) - 1);
    // Clocks that are apart let tokens rise only if a majority loses its data over a longer time:
    // docs/operations/several-masters.md.
    const isOther = (each: PlannedFault): boolean =>
      each.kind === 'restart-empty' && each.target !== target && at < each.at + 3 * CLOCKS_OFF;
    if (moved === true && kind === 'restart-empty' && plan.some(isOther)) continue;
    // A node that lost its data stays away for one ttl.
    const absence = nodes > 1 && kind === 'restart-empty' ? 1.05 * longestTtl : 0;
    plan.push({
      number: plan.length,
      kind,
      at: Math.round(at * 1000) / 1000,
      duration: durationOf(kind, random, ttl) + absence,
      target,
      force: random.next(),
    });
  }
  return plan;
}

/** Nodes of a quorum have no queue and no shared clock: docs/operations/several-masters.md. */
function isForbiddenForNodes(kind: FaultKind): boolean {
  return [
    'restart-old',
    'step-clock',
    'cut-subscriber',
    'lose-pushes',
    'refuse-subscriptions',
  ].includes(kind);
}

function durationOf(kind: FaultKind, random: Random, ttl: number): number {
  switch (kind) {
    case 'stall':
      return random.chance(0.5) ? random.real(5, 300) : random.real(0.2, 2.5) * ttl;
    case 'hang':
      return random.chance(0.7) ? random.real(50, 3000) : random.real(0.2, 1.5) * ttl;
    case 'restart-with-data':
    case 'restart-empty':
    case 'restart-old':
      return random.real(20, 1500);
    case 'cut':
    case 'cut-subscriber':
      return random.chance(0.7) ? random.real(1, 500) : random.real(500, 8000);
    case 'kill-process':
      return random.real(10, 10_000);
    default:
      return random.real(200, 8000);
  }
}
