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

/** Takes one seed after the other until a promise is broken, or the time is over. */
async function hunt(seconds: number, nodes: number): Promise<Quarry> {
  const started = performance.now();
  const passed = (): number => (performance.now() - started) / 1000;
  for (let seed = 1; passed() < seconds; seed += 1) {
    const settings = settingsOf(seed, nodes);
    const { violations } = await run(settings);
    const [first] = violations;
    if (first === undefined) continue;
    const { rule, message } = first;
    return { settings, rule, message, seconds: passed(), seeds: seed };
  }
  return { settings: undefined, rule: '', message: '', seconds: passed(), seeds: 0 };
}

function settingsOf(seed: number, nodes: number): Settings {
  return { seed, minutes: 0.5, processes: 3 + (seed % 4), nodes, faults: FAULTS };
}

const [seconds = '60', nodes = '1', seed] = process.argv.slice(2);
const quarry =
  seed === undefined
    ? await hunt(Number(seconds), Number(nodes))
    : (await run(settingsOf(Number(seed), Number(nodes)))).violations;
console.log(JSON.stringify(quarry));
