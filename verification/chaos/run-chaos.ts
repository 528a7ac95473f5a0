import { setTimeout as sleep } from 'node:timers/promises';

import { CLAIM_TIME_MS, WAITER_LEASE_MS } from '../../src/backends/protocol.js';
import { checkHistory } from './check-history.js';
import { NEMESIS } from '../checker/troubles.js';
import { machineTime } from '../history/machine-time.js';
import { readHistory } from '../history/read-history.js';
import { type Recorder, recorderOf } from '../history/recorder.js';
import { injectFaults } from './nemesis/nemesis.js';
import { observe, type Observer } from './nemesis/observer.js';
import { type PlannedFault, planFaults } from './nemesis/plan.js';
import { catalog, faultKindsOf, startTopology, type TopologyName } from './topologies/catalog.js';
import { connect } from './topologies/connect.js';
import { WORKERS } from './topologies/detours.js';
import { NAME } from './topologies/server-faults.js';
import type { Topology } from './topologies/topology.js';
import { Workers } from './workers/workers.js';

/** The same settings give the same plan. */
export interface Settings {
  readonly seed: number;
  readonly minutes: number;
  readonly topology: TopologyName;
  /** Milliseconds. */
  readonly ttl: number;
  /** Each worker has a keeper, and its loop is blocked at times. */
  readonly keeper: boolean;
}

const LIMIT = 3;

/** How long after a fault the clients may need to be connected again, in milliseconds. */
const RECONNECT = 2500;

/**
 * Lets worker processes contend while faults strike, writes the history into the folder, which must
 * be empty, and checks it.
 */
export async function runChaos(settings: Settings, folder: string) {
  const { topology: name, keeper, ...others } = settings;
  const kinds = faultKindsOf(name, keeper);
  const { nodes } = catalog[name];
  const plan = planFaults({ ...others, kinds, workers: WORKERS, nodes });
  const topology = await startTopology(settings.topology);
  let stalls;
  try {
    stalls = await perform(plan, topology, settings, folder);
  } finally {
    await topology.stop();
  }
  const events = readHistory(folder);
  return { events, violations: checkHistory(events), stalls };
}

async function perform(
  plan: readonly PlannedFault[],
  topology: Topology,
  { seed, ttl, keeper, topology: kind }: Settings,
  folder: string,
): Promise<Workers['stalls']> {
  const recovery = recoveryTime(plan, ttl);
  const recorder = recorderOf(folder, NEMESIS);
  const { nodes } = catalog[kind];
  // Without a queue, no waiter is granted a permit that it has to claim.
  const claim = nodes === 1 ? CLAIM_TIME_MS : 0;
  const semaphore = { name: NAME, limit: LIMIT, ttl };
  recorder.record({ type: 'run', semaphores: [semaphore], nodes, seed, claim, recovery });
  const connection = await connect(topology.observerAddress);
  const observer = observe(connection, semaphore, recorder);
  const shared = { folder, semaphore, seed, keeper };
  const workers = new Workers(WORKERS, shared, (worker) => topology.addressOf(worker));
  try {
    await workers.ready();
    await injectFaults(plan, { topology, workers, recorder });
    recorder.record({ type: 'quiet' });
    await untilInUse(observer, workers, recovery);
    await workers.stop(recovery);
    await recordFinal(observer, topology, recorder, recovery);
  } finally {
    workers.killAll();
    await observer.stop();
    recorder.close();
  }
  if (workers.problems.length > 0) throw new AggregateError(workers.problems, 'workers failed');
  return workers.stalls;
}

/**
 * Milliseconds after the last fault within which every permit must be in use again: waiters of dead
 * processes stay for their lease, and may get a last permit; live processes reconnect, and then ask
 * every 1.5 s. A clock that was set back makes all that longer.
 */
function recoveryTime(plan: readonly PlannedFault[], ttl: number): number {
  const steps = plan.map(({ step = 0 }) => -step);
  return Math.max(ttl, CLAIM_TIME_MS) + WAITER_LEASE_MS + RECONNECT + 1500 + Math.max(0, ...steps);
}

/** Until a live process holds each slot by a new token: a dead process may have had a waiter. */
async function untilInUse(observer: Observer, workers: Workers, within: number): Promise<void> {
  const before = new Map(observer.slots);
  const isNew = (slot: number): boolean => {
    const now = observer.slots.get(slot);
    return (
      now !== undefined && now.token !== before.get(slot)?.token && workers.includes(now.label)
    );
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
    const state = await observer.read();
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
