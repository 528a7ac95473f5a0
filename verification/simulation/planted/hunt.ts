// Before anything of src.
import { assertDeterministic } from '../deterministic.js';

import { faultsNamed } from '../command-line.js';
import { run } from '../run.js';
import { KINDS, kindsOf, type Settings } from '../settings.js';

/** What a hunt prints, as JSON. */
export interface Quarry {
  readonly settings: Settings | undefined;
  readonly rule: string;
  readonly message: string;
  readonly seconds: number;
  readonly seeds: number;
}

/**
 * Takes one seed after the other until a promise is broken, or the time is over; the first in any
 * case.
 */
async function hunt(
  seconds: number,
  where: Omit<Settings, 'seed' | 'minutes' | 'processes'>,
  first: number,
): Promise<Quarry> {
  const started = performance.now();
  const passed = (): number => (performance.now() - started) / 1000;
  let seed = first;
  do {
    const settings = { seed, minutes: 0.5, processes: 3 + (seed % 4), ...where };
    const { violations } = await run(settings);
    seed += 1;
    const [violation] = violations;
    if (violation === undefined) continue;
    const { rule, message } = violation;
    return { settings, rule, message, seconds: passed(), seeds: seed - 1 };
  } while (passed() < seconds);
  return { settings: undefined, rule: '', message: '', seconds: passed(), seeds: 0 };
}

assertDeterministic();
const [seconds = '60', nodes, faults = 'all', first = '1', kind = ''] = process.argv.slice(2);
const where = { nodes: Number(nodes ?? 1), faults: faultsNamed(faults) };
const kinds = kindsOf(KINDS.filter((each) => each === kind));
const pace = kind === 'newcomers' && { pace: 0.1 };
const quarry = await hunt(Number(seconds), { ...where, ...kinds, ...pace }, Number(first));
console.log(JSON.stringify(quarry));
// What a bug has left behind does not count any more.
process.exit();
