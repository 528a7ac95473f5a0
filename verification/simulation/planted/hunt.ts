// Before anything of src.
import { assertDeterministic } from '../deterministic.js';

import { FAULTS } from '../faults/kinds.js';
import { run } from '../run.js';
import { kindsOf, type Settings } from '../settings.js';
import type { PlantedBug } from './bugs.js';

/** The argument of a hunt, as JSON. */
export interface Hunt extends Pick<PlantedBug, 'nodes' | 'kind' | 'faults' | 'pace'> {
  /** Seconds of processor time for further seeds; 0: it takes one seed. */
  readonly seconds: number;
  readonly first: number;
}

/** The output of a hunt, as JSON. */
export interface Quarry {
  /** Of the run that broke a promise. */
  readonly settings?: Settings;
  readonly rule: string;
  readonly message: string;
  readonly seconds: number;
}

/** Takes one seed after the other until a promise is broken, or the time is over. */
async function hunt(options: Hunt): Promise<Quarry> {
  const { seconds, first, nodes = 1, kind, faults = FAULTS, pace } = options;
  const kinds = kindsOf(kind === undefined ? [] : [kind]);
  let seed = first;
  do {
    const processes = 3 + (seed % 4);
    const settings = { seed, minutes: 0.5, processes, nodes, faults, ...kinds, pace };
    const { violations } = await run(settings);
    seed += 1;
    const [violation] = violations;
    if (violation === undefined) continue;
    const { rule, message } = violation;
    return { settings, rule, message, seconds: spent() };
  } while (spent() < seconds);
  return { rule: '', message: '', seconds: spent() };
}

/** Seconds of processor time: other work of the machine does not shorten the hunt. */
function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

assertDeterministic();
const quarry = await hunt(JSON.parse(process.argv[2] ?? '') as Hunt);
console.log(JSON.stringify(quarry));
// Calls that the bug has left open would keep the process alive.
process.exit();
