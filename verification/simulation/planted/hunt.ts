// Before anything of src.
import '../deterministic.js';

import { FAULTS } from '../faults/kinds.js';
import { run } from '../run.js';
import type { Settings } from '../settings.js';

/** What a hunt prints, as JSON. */
export interface Quarry {
  readonly settings: Settings | undefined;
  readonly rule: string;
  readonly message: string;
  readonly seconds: number;
  readonly seeds: number;
}

/** Takes one seed after the other until a promise is broken, or the time is over; the first in any case. */
async function hunt(seconds: number, nodes: number, first: number): Promise<Quarry> {
  const started = performance.now();
  const passed = (): number => (performance.now() - started) / 1000;
  let seed = first;
  do {
    const settings = settingsOf(seed, nodes);
    const { violations } = await run(settings);
    seed += 1;
    const [violation] = violations;
    if (violation === undefined) continue;
    const { rule, message } = violation;
    return { settings, rule, message, seconds: passed(), seeds: seed - 1 };
  } while (passed() < seconds);
  return { settings: undefined, rule: '', message: '', seconds: passed(), seeds: 0 };
}

function settingsOf(seed: number, nodes: number): Settings {
  return { seed, minutes: 0.5, processes: 3 + (seed % 4), nodes, faults: FAULTS };
}

const [seconds = '60', nodes = '1', first = '1'] = process.argv.slice(2);
console.log(JSON.stringify(await hunt(Number(seconds), Number(nodes), Number(first))));
// What a bug has left behind does not count any more.
process.exit();
