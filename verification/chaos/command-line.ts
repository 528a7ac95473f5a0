import { parseArgs } from 'node:util';

import {
  isTopologyName,
  keeperFits,
  type TopologyName,
  topologyNames,
} from './topologies/catalog.js';

export const HELP = `npm run chaos -- [options]

Lets processes contend for a semaphore while faults strike, and checks what they saw.

  --seed N       which faults come, and when; the same seed plans the same (default: 1)
  --minutes M    for how long faults strike (default: 1)
  --ttl T        of the semaphore, in milliseconds, at least 100 (default: 1000)
  --topology T   ${topologyNames.join(', ')} (default: single)
  --keeper       each process has a keeper, and its loop is blocked at times
  --out FOLDER   where history and report go (default: chaos-report)
  --plan         prints the plan and ends
`;

export interface ChaosArguments {
  readonly seed: number;
  readonly minutes: number;
  readonly ttl: number;
  readonly topology: TopologyName;
  readonly keeper: boolean;
  readonly out: string;
  readonly planOnly: boolean;
  readonly help: boolean;
}

/** @throws {TypeError | RangeError} for what it does not understand */
export function readCommandLine(args: readonly string[]): ChaosArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '1' },
      ttl: { type: 'string', default: '1000' },
      topology: { type: 'string', default: 'single' },
      keeper: { type: 'boolean', default: false },
      out: { type: 'string', default: 'chaos-report' },
      plan: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed);
  const minutes = Number(values.minutes);
  const ttl = Number(values.ttl);
  const { topology, keeper, out } = values;
  if (!Number.isSafeInteger(seed))
    throw new RangeError(`--seed must be an integer: ${values.seed}`);
  if (!(minutes > 0 && Number.isFinite(minutes))) {
    throw new RangeError(`--minutes must be a positive number: ${values.minutes}`);
  }
  if (!(Number.isSafeInteger(ttl) && ttl >= 100)) {
    throw new RangeError(`--ttl must be an integer of at least 100: ${values.ttl}`);
  }
  if (!isTopologyName(topology)) {
    throw new RangeError(`--topology must be one of ${topologyNames.join(', ')}: ${topology}`);
  }
  if (keeper && !keeperFits(topology)) {
    throw new RangeError(`--keeper: no keeper works with --topology ${topology}`);
  }
  return { seed, minutes, ttl, topology, keeper, out, planOnly: values.plan, help: values.help };
}
