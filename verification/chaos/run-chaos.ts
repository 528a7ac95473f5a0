import { setTimeout as sleep } from 'node:timers/promises';

import { CLAIM_TIME_MS, WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { checkHistory } from './checker/check-history.js';
import { RECONNECT } from './checker/precision.js';
import { NEMESIS } from './checker/run-record.js';
import type { HistoryEvent, Violation } from '../history/events.js';
import { machineTime } from './history/machine-time.js';
import { readHistory } from '../history/read-history.js';
import { Recorder } from './history/recorder.js';
import { injectFaults } from './nemesis/nemesis.js';
import { Observer } from './nemesis/observer.js';
import { type PlannedFault, planFaults } from './nemesis/plan.js';
import { NAME } from './semaphore-name.js';
import { faultKindsOf, nodesOf, startTopology, type TopologyName } from './topologies/catalog.js';
import { type Topology, WORKERS } from './topologies/topology.js';
import { Crew } from './workers/crew.js';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly topology: TopologyName;
  /** Empty; gets the history. */
  readonly folder: string;
  readonly limit?: number;
  /** Milliseconds. */
  readonly ttl?: number;
  /** Callers in each worker process. */
  readonly callers?: number;
  /** Each worker has a keeper, and its loop is blocked at times. */
  readonly keeper?: boolean;
  readonly onFault?: (fault: PlannedFault) => void;
}

export interface ChaosResult {
  readonly plan: readonly PlannedFault[];
  readonly events: readonly HistoryEvent[];
  readonly violations: readonly Violation[];
  /** Permits that were held when a loop was blocked, and those that were held at its end, too. */
  readonly stalls: { readonly held: number; readonly kept: number };
}

/** The plan of a run: the same for the same seed, length and topology. */
export function planOf({
  seed,
  minutes,
  topology,
  ttl = 1000,
  keeper = false,
}: Omit<ChaosOptions, 'folder'>): PlannedFault[] {
  return planFaults({
    seed,
    minutes,
    ttl,
    kinds: faultKindsOf(topology, keeper),
    workers: WORKERS,
    ...nodesOf(topology),
  });
}

/** Lets worker processes contend while faults strike, writes the history, and checks it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const plan = planOf(options);
  const topology = await startTopology(options.topology);
  let stalls;
  try {
    stalls = await perform(plan, topology, options);
  } finally {
    await topology.stop();
  }
  const events = readHistory(options.folder);
  return { plan, events, violations: checkHistory(events), stalls };
}

async function perform(
  plan: readonly PlannedFault[],
  topology: Topology,
  options: ChaosOptions,
): Promise<ChaosResult['stalls']> {
  const { folder, seed, limit = 3, ttl = 1000, callers = 4, onFault } = options;
  const recovery = recoveryTime(plan, ttl);
  const recorder = new Recorder(folder, NEMESIS);
  const { nodes = 1 } = nodesOf(options.topology);
  // Without a queue nobody is granted a permit that it has to claim.
  const claim = nodes === 1 ? CLAIM_TIME_MS : 0;
  recorder.record({
    type: 'run',
    semaphores: [{ name: NAME, limit, ttl }],
    nodes,
    seed,
    claim,
    recovery,
  });
  const shared = { folder, name: NAME, limit, ttl, recorder };
  const observer = await Observer.start({ ...shared, address: topology.observerAddress });
  const addressOf = (worker: number) => topology.addressOf(worker);
  const workload = { folder, name: NAME, limit, ttl, callers, keeper: options.keeper === true };
  const crew = new Crew({ size: WORKERS, seed, workload, addressOf });
  try {
    await crew.ready();
    await injectFaults(plan, { topology, crew, recorder, name: NAME, onFault });
    recorder.record({ type: 'quiet' });
    await untilInUse(observer, crew, limit, recovery);
    await crew.stop(recovery);
    await recordFinal(observer, topology, recorder, recovery);
  } finally {
    crew.killAll();
    await observer.stop();
    recorder.close();
  }
  if (crew.problems.length > 0) throw new AggregateError(crew.problems, 'workers failed');
  return crew.stalls;
}

/**
 * Within how many milliseconds after the last fault every permit must be in use again: waiters of
 * dead processes stay for their lease, the last of them may still be granted a permit, others
 * reconnect and then look every 1.5 s; and a clock that was set back makes all that longer.
 */
function recoveryTime(plan: readonly PlannedFault[], ttl: number): number {
  const steps = plan.map(({ step = 0 }) => -step);
  return Math.max(ttl, CLAIM_TIME_MS) + WAITER_LEASE_MS + RECONNECT + 1500 + Math.max(0, ...steps);
}

/**
 * Until each slot was seen with a token that it did not have before, held by a live process:
 * the dead may have waited.
 */
async function untilInUse(
  observer: Observer,
  crew: Crew,
  limit: number,
  within: number,
): Promise<void> {
  const before = new Map(observer.slots);
  const isNew = (slot: number): boolean => {
    const now = observer.slots.get(slot);
    return now !== undefined && now.token !== before.get(slot)?.token && crew.isOf(now.label);
  };
  const slots = Array.from({ length: limit }, (_, slot) => slot);
  const deadline = machineTime() + within;
  while (!slots.every(isNew) && machineTime() < deadline) await sleep(20);
  // What was granted just now must have time to reach its holder.
  await sleep(500);
}

/** Waits for what dead processes have left to go by itself, and records what is left then. */
async function recordFinal(
  observer: Observer,
  topology: Topology,
  recorder: Recorder,
  within: number,
): Promise<void> {
  const deadline = machineTime() + within;
  for (;;) {
    const state = await observer.look();
    const keys = await topology.leftKeys(NAME);
    const { held = Infinity, waiting = Infinity } = state ?? {};
    const clean = held === 0 && waiting === 0 && keys.every((key) => key === 'info');
    if (clean || machineTime() >= deadline) {
      recorder.record({ type: 'final', held, waiting, keys });
      return;
    }
    await sleep(50);
  }
}
