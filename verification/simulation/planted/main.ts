import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { replayOf } from '../command-line.js';
import { buildHunt } from './build.js';
import { BUGS, type PlantedBug } from './bugs.js';
import type { Hunt, Quarry } from './hunt.js';

const execute = promisify(execFile);

/** Seconds of processor time for each bug. */
const PATIENCE = 90;

interface Row {
  readonly bug: PlantedBug;
  readonly quarry: Quarry;
}

/**
 * Plants one bug after the other, hunts it, and makes sure that the same seed passes without it.
 */
async function main(names: readonly string[], table: string | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'planted-'));
  const clean = join(folder, 'clean.mjs');
  await buildHunt(clean, undefined);
  const rows: Row[] = [];
  for (const bug of BUGS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const quarry = await find(bug, folder, clean);
    rows.push({ bug, quarry });
    const { settings, rule, seconds } = quarry;
    const end = `${rule}, seed ${settings?.seed} (${seconds.toFixed(1)} s)`;
    console.log(`${bug.name}: ${settings === undefined ? `NOT FOUND in ${PATIENCE} s` : end}`);
  }
  await rm(folder, { recursive: true });
  const found = rows.filter(({ quarry }) => quarry.settings !== undefined);
  const times = found.map(({ quarry }) => quarry.seconds).toSorted((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? Infinity;
  console.log(`${found.length} of ${rows.length} found; median ${median.toFixed(1)} s`);
  if (table !== undefined) await writeFile(table, tableOf(rows, median));
  if (found.length < rows.length) process.exitCode = 1;
}

async function find(bug: PlantedBug, folder: string, clean: string): Promise<Quarry> {
  const file = join(folder, `${bug.name}.mjs`);
  await buildHunt(file, bug);
  let passed = 0;
  for (let first = 1; ;) {
    const found = await ask(file, { ...bug, seconds: PATIENCE - passed, first });
    passed += found.seconds;
    const seed = found.settings?.seed;
    if (seed === undefined) return { ...found, seconds: passed };
    const without = await ask(clean, { ...bug, seconds: 0, first: seed });
    if (without.settings === undefined) return { ...found, seconds: passed };
    const { rule, message } = without;
    console.log(`seed ${seed} fails without ${bug.name} as well: ${rule}, ${message}`);
    first = seed + 1;
  }
}

/** With some bugs a seed has no end: seconds after which a hunt is given up. */
const ENDLESS: Quarry = { rule: '', message: '', seconds: 10 * PATIENCE };

async function ask(file: string, hunt: Hunt): Promise<Quarry> {
  const limits = { maxBuffer: 1 << 26, timeout: ENDLESS.seconds * 1000 };
  try {
    const { stdout } = await execute(process.execPath, [file, JSON.stringify(hunt)], limits);
    return JSON.parse(stdout) as Quarry;
  } catch (error) {
    if (error instanceof Error && 'killed' in error && error.killed === true) return ENDLESS;
    throw error;
  }
}

function tableOf(rows: readonly Row[], median: number): string {
  const lines = rows.map(({ bug, quarry: { settings, rule, seconds } }) => {
    const how = settings === undefined ? 'not found' : `\`${replayOf(settings)}\``;
    return `| ${bug.name} | ${bug.what} | ${bug.origin} | ${rule} | ${seconds.toFixed(1)} | ${how} |`;
  });
  return `# Planted bugs

\`npm run simulate:planted -- --table docs/evidence/planted-bugs.md\` puts one protocol bug after the other into the sources
(\`verification/simulation/planted/bugs.ts\`), and lets the simulator take seeds from 1 on until a promise is broken. The same
seed passes without the bug. ${rows.length} bugs, median ${median.toFixed(1)} s on one busy core. The command repeats a run only in
sources that have the bug. Where it names \`--faults\`, the hunt was limited to those: few of all kinds bring the bug to light.

| bug | what is wrong | from | found by the rule | seconds | run |
| --- | --- | --- | --- | ---: | --- |
${lines.join('\n')}
`;
}

const options = { table: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
await main(positionals, values.table);
