import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { replayOf } from '../command-line.js';
import type { PlantedBug } from './bug.js';
import { BUGS } from './bugs.js';
import { buildHunt } from './build.js';
import type { Quarry } from './hunt.js';

const execute = promisify(execFile);

/** Seconds for each bug. */
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
  const chosen = BUGS.filter(({ name }) => names.length === 0 || names.includes(name));
  const rows: Row[] = [];
  for (const bug of chosen) {
    const row = await find(bug, folder, clean);
    rows.push(row);
    console.log(lineOf(row));
  }
  await rm(folder, { recursive: true });
  const found = rows.filter(({ quarry }) => quarry.settings !== undefined);
  const times = found.map(({ quarry }) => quarry.seconds).toSorted((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? Infinity;
  console.log(`${found.length} of ${rows.length} found; median ${median.toFixed(1)} s`);
  if (table !== undefined) await writeFile(table, tableOf(rows, median));
  if (found.length < rows.length) process.exitCode = 1;
}

async function find(bug: PlantedBug, folder: string, clean: string): Promise<Row> {
  const file = join(folder, `${bug.name}.mjs`);
  await buildHunt(file, bug);
  const where = [String(bug.nodes ?? 1), bug.faults?.join() ?? 'all'];
  let passed = 0;
  for (let first = 1; ;) {
    const found = await ask(file, [
      String(PATIENCE - passed),
      ...where,
      String(first),
      bug.kind ?? '',
    ]);
    passed += found.seconds;
    const quarry = { ...found, seconds: passed };
    const seed = quarry.settings?.seed;
    if (seed === undefined) return { bug, quarry };
    const without = await ask(clean, ['-1', ...where, String(seed), bug.kind ?? '']);
    if (without.settings === undefined) return { bug, quarry };
    console.log(
      `seed ${seed} fails without ${bug.name} as well: ${without.rule}, ${without.message}`,
    );
    first = seed + 1;
  }
}

/** With some bugs a seed has no end. */
const ENDLESS: Quarry = {
  settings: undefined,
  rule: '',
  message: '',
  seconds: 3 * PATIENCE,
  seeds: 0,
};

async function ask(file: string, args: readonly string[]): Promise<Quarry> {
  const limits = { maxBuffer: 1 << 26, timeout: ENDLESS.seconds * 1000 };
  try {
    const { stdout } = await execute(process.execPath, [file, ...args], limits);
    return JSON.parse(stdout) as Quarry;
  } catch (error) {
    if (error instanceof Error && 'killed' in error && error.killed === true) return ENDLESS;
    throw error;
  }
}

function lineOf({ bug, quarry }: Row): string {
  if (quarry.settings === undefined) return `${bug.name}: NOT FOUND in ${PATIENCE} s`;
  const { rule, seconds, seeds } = quarry;
  return `${bug.name}: ${rule}, seed ${quarry.settings.seed} (${seeds} seeds, ${seconds.toFixed(1)} s)`;
}

function tableOf(rows: readonly Row[], median: number): string {
  const lines = rows.map(({ bug, quarry }) => {
    const { settings, rule, seconds } = quarry;
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

const args = process.argv.slice(2);
const at = args.indexOf('--table');
const table = at < 0 ? undefined : args[at + 1];
await main(at < 0 ? args : [...args.slice(0, at), ...args.slice(at + 2)], table);
