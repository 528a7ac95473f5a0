import { setTimeout as sleep } from 'node:timers/promises';

import type { FaultEvent } from '../../history/events.js';
import { machineTime } from '../../history/machine-time.js';
import type { Recorder } from '../../history/recorder.js';
import type { Topology } from '../topologies/topology.js';
import type { Workers } from '../workers/workers.js';
import { describeFault, type PlannedFault, type Undo } from './plan.js';

export interface NemesisOptions {
  readonly topology: Topology;
  readonly workers: Workers;
  readonly recorder: Recorder;
}

/** Causes the planned faults, one after the other, and records each. */
export async function injectFaults(
  plan: readonly PlannedFault[],
  options: NemesisOptions,
): Promise<void> {
  const started = machineTime();
  for (const [index, fault] of plan.entries()) {
    await sleep(Math.max(0, started + fault.at - machineTime()));
    console.log(`now: ${describeFault(fault).trim()}`);
    await injectOne(index + 1, fault, options);
  }
}

async function injectOne(
  number: number,
  fault: PlannedFault,
  options: NemesisOptions,
): Promise<void> {
  const { kind, workers: struck, step, key, node, lasts } = fault;
  const targets = struck && options.workers.names(struck);
  const what = { type: 'fault', fault: number, kind, targets, step, key, node } as const;
  const record = (phase: FaultEvent['phase']): void => options.recorder.record({ ...what, phase });
  record('begin');
  const undo = await inject(fault, options);
  if (undo !== undefined) {
    await sleep(lasts);
    await undo();
  }
  record('end');
  await options.topology.servers.repair?.();
}

async function inject(
  fault: PlannedFault,
  { topology, workers }: NemesisOptions,
): Promise<Undo | undefined> {
  const { kind, workers: struck = [] } = fault;
  if (kind === 'kill-process') {
    await Promise.all(struck.map((worker) => workers.kill(worker)));
    return undefined;
  }
  if (kind === 'stop-process') {
    const members = struck.map((index) => workers.member(index).worker);
    for (const worker of members) worker.pause();
    return () => Promise.resolve(members.forEach((worker) => worker.resume()));
  }
  if (kind === 'stall-loop') {
    const stalls = Promise.all(struck.map((worker) => workers.stall(worker, fault.lasts)));
    return async () => void (await stalls);
  }
  return topology.inject(fault);
}
