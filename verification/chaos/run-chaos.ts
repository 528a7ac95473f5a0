import { setTimeout as sleep } from 'node:timers/promises';

import { CLAIM_TIME_MS, WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { checkHistory } from './checker/check-history.js';
import { RECONNECT } from './checker/precision.js';
import { NEMESIS } from './checker/run-record.js';
import type { HistoryEvent, Violation } from '../history/events.js';
import { machineTime } from '../history/machine-time.js';
import { readHistory } from '../history/read-history.js';
import { Recorder } from './history/recorder.js';
import { injectFaults } from './nemesis/nemesis.js';
import { Observer } from './nemesis/observer.js';
import { type PlannedFault, planFaults } from './nemesis/plan.js';
import { faultKindsOf, nodesOf, startTopology, type TopologyName } from './topologies/catalog.js';
import { WORKERS } from './topologies/detours.js';
import { NAME } from './topologies/server-faults.js';
import type { Topology } from './topologies/topology.js';
import { Crew } from './workers/crew.js';

/** What a run is repeated by: the same settings give the same plan. */
export interface Settings {
  readonly seed: number;
  readonly minutes: number;
  readonly topology: TopologyName;
  /** Milliseconds. */
  readonly ttl: number;
  /** Each worker has a keeper, and its loop is blocked at times. */
  readonly keeper: boolean;
}

export interface ChaosResult {
  readonly plan: readonly PlannedFault[];
  readonly events: readonly HistoryEvent[];
  readonly violations: readonly Violation[];
  readonly stalls: Crew['stalls'];
}

const LIMIT = 3;
/** In each worker process. */
const CALLERS = 4;

type OnFault = (fault: PlannedFault) => void;

export function planOf({ topology, keeper, ...others }: Settings): PlannedFault[] {
  const kinds = faultKindsOf(topology, keeper);
  return planFaults({ ...others, kinds, workers: WORKERS, ...nodesOf(topology) });
}

/**
 * Lets worker processes contend while faults strike, writes the history into the folder, which must
 * be empty, and checks it.
 */
export async function runChaos(
  settings: Settings,
  folder: string,
  onFault?: OnFault,
): Promise<ChaosResult> {
  const plan = planOf(settings);
  const topology = await startTopology(settings.topology);
  let stalls;
  try {
    stalls = await perform(plan, topology, settings, folder, onFault);
  } finally {
    await topology.stop();
  }
  const events = readHistory(folder);
  return { plan, events, violations: checkHistory(events), stalls };
}

async function perform(
  plan: readonly PlannedFault[],
  topology: Topology,
  { seed, ttl, keeper, topology: kind }: Settings,
  folder: string,
  onFault: OnFault | undefined,
): Promise<ChaosResult['stalls']> {
  const recovery = recoveryTime(plan, ttl);
  const recorder = new Recorder(folder, NEMESIS);
  const { nodes = 1 } = nodesOf(kind);
  // Without a queue, no waiter is granted a permit that it has to claim.
  const claim = nodes === 1 ? CLAIM_TIME_MS : 0;
  const semaphore = { name: NAME, limit: LIMIT, ttl };
  recorder.record({ type: 'run', semaphores: [semaphore], nodes, seed, claim, recovery });
  const observer = await Observer.start(topology.observerAddress, semaphore, recorder);
  const workload = { folder, ...semaphore, callers: CALLERS, keeper };
  const crew = new Crew(WORKERS, seed, workload, (worker) => topology.addressOf(worker));
  try {
    await crew.ready();
    await injectFaults(plan, { topology, crew, recorder, onFault });
    recorder.record({ type: 'quiet' });
    await untilInUse(observer, crew, recovery);
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
async function untilInUse(observer: Observer, crew: Crew, within: number): Promise<void> {
  const before = new Map(observer.slots);
  const isNew = (slot: number): boolean => {
    const now = observer.slots.get(slot);
    return now !== undefined && now.token !== before.get(slot)?.token && crew.isOf(now.label);
  };
  const slots = Array.from({ length: LIMIT }, (_, slot) => slot);
  const deadline = machineTime() + within;
  while (!slots.every(isNew) && machineTime() < deadline) await sleep(20);
  // The latest grants need time to reach their holders.
  await sleep(500);
}

/** Waits until the tickets of dead processes have expired, then records the keys that are left. */
async function recordFinal(
  observer: Observer,
  topology: Topology,
  recorder: Recorder,
  within: number,
): Promise<void> {
  const deadline = machineTime() + within;
  for (;;) {
    const state = await observer.look();
    const keys = await topology.leftKeys();
    const { held = Infinity, waiting = Infinity } = state ?? {};
    const clean = held === 0 && waiting === 0 && keys.every((key) => key === 'info');
    if (clean || machineTime() >= deadline) {
      recorder.record({ type: 'final', held, waiting, keys });
      return;
    }
    await sleep(50);
  }
}
