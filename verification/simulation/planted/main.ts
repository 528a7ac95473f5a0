import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';

import { buildSimulator } from './build.js';
import { BUGS, type PlantedBug } from './bugs.js';

const execute = promisify(execFile);

/** Seconds of processor time for each bug. */
const PATIENCE = 90;

/** With some bugs a seed has no end: seconds after which a search is given up. */
const ENDLESS = 10 * PATIENCE;

/** The first run that breaks a promise, and how long the simulator looked for it. */
interface Quarry {
  readonly seed: number | undefined;
  readonly rule: string;
  /** The command that repeats the run. */
  readonly run: string;
  readonly seconds: number;
}

interface Row {
  readonly bug: PlantedBug;
  readonly quarry: Quarry;
}

/**
 * Plants one bug after the other, lets the simulator look for it, and makes sure that the same seed
 * passes without it.
 */
async function main(names: readonly string[], table: string | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'planted-'));
  const clean = join(folder, 'clean.mjs');
  await buildSimulator(clean, undefined);
  const rows: Row[] = [];
  for (const bug of BUGS.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const quarry = await find(bug, folder, clean);
    rows.push({ bug, quarry });
    const { seed, rule, seconds } = quarry;
    const end = `${rule}, seed ${seed} (${seconds.toFixed(1)} s)`;
    console.log(`${bug.name}: ${seed === undefined ? `NOT FOUND in ${PATIENCE} s` : end}`);
  }
  await rm(folder, { recursive: true });
  const found = rows.filter(({ quarry }) => quarry.seed !== undefined);
  const times = found.map(({ quarry }) => quarry.seconds).toSorted((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? Infinity;
  console.log(`${found.length} of ${rows.length} found; median ${median.toFixed(1)} s`);
  if (table !== undefined) await writeFile(table, tableOf(rows, median));
  if (found.length < rows.length) process.exitCode = 1;
}

async function find(bug: PlantedBug, folder: string, clean: string): Promise<Quarry> {
  const file = join(folder, `${bug.name}.mjs`);
  await buildSimulator(file, bug);
  let passed = 0;
  for (let first = 1; ;) {
    const found = await simulate(file, bug, `--seed ${first} --seconds ${PATIENCE - passed}`);
    passed += found.seconds;
    if (found.seed === undefined) return { ...found, seconds: passed };
    const without = await simulate(clean, bug, `--seed ${found.seed}`);
    if (without.seed === undefined) return { ...found, seconds: passed };
    console.log(`seed ${found.seed} fails without ${bug.name} as well: ${without.rule}`);
    first = found.seed + 1;
  }
}

async function simulate(file: string, bug: PlantedBug, seeds: string): Promise<Quarry> {
  const { nodes = 1, kind, faults, pace } = bug;
  const options = ['--first --quiet --no-shrink --minutes 0.5 --processes 5', seeds];
  options.push(`--nodes ${nodes}`);
  if (kind !== undefined) options.push(`--${kind}`);
  if (faults !== undefined) options.push(`--faults ${faults.join(',')}`);
  if (pace !== undefined) options.push(`--pace ${pace}`);
  const limits = { maxBuffer: 1 << 26, timeout: ENDLESS * 1000 };
  const running = execute(process.execPath, [file, ...options.join(' ').split(' ')], limits);
  // It ends with 1 where a promise is broken.
  const { stdout } = await running.catch((error: { readonly stdout: string }) => error);
  const [, seed, rule = '', run = ''] =
    /^seed (\d+) .* FAILED (\S+)\n *(npm run .*)$/m.exec(stdout) ?? [];
  const seconds = Number(/ in ([\d.]+) s: /.exec(stdout)?.[1] ?? ENDLESS);
  return { seed: seed === undefined ? undefined : Number(seed), rule, run, seconds };
}

function tableOf(rows: readonly Row[], median: number): string {
  const lines = rows.map(({ bug, quarry: { seed, rule, run, seconds } }) => {
    const how = seed === undefined ? 'not found' : `\`${run}\``;
    return `| ${bug.name} | ${bug.what} | ${bug.origin ?? 'mutant'} | ${rule} | ${seconds.toFixed(1)} | ${how} |`;
  });
  return `# Planted bugs

\`npm run simulate:planted -- --table docs/evidence/planted-bugs.md\` puts one protocol bug after the other into the sources
(\`verification/simulation/planted/bugs.ts\`), and lets the simulator take seeds from 1 on until a promise is broken. The same
seed passes without the bug. ${rows.length} bugs, median ${median.toFixed(1)} s of processor time. The command repeats a run only in
sources that have the bug. Where it names \`--faults\`, the search was limited to those: few of all kinds bring the bug to light.

| bug | what is wrong | from | found by the rule | seconds | run |
| --- | --- | --- | --- | ---: | --- |
${lines.join('\n')}
`;
}

const options = { table: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
await main(positionals, values.table);
