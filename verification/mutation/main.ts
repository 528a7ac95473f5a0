/*
 * npm run mutation -- [--only PART]... [--every N]: only files whose path has PART in it, and each
 * Nth mutant, spread over all files.
 */
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs, promisify } from 'node:util';
import { transformSync } from 'esbuild';

import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { markdownTable } from '../support/markdown-table.js';
import { type Mutant, mutantsOf } from './mutants.js';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The life of a permit, the code that talks to the scripts, and the scripts. */
const FILES = [
  ...filesIn('src/core'),
  ...'handle events time/server-clock time/shared-timer'.split(' ').map((name) => `src/${name}.ts`),
  ...'acquire extend release admin operation wire-text redis-backend script-runner redis-errors keys'
    .split(' ')
    .map((name) => `src/backends/redis/${name}.ts`),
  // Scripts that only look at a server hold no permits.
  ...filesIn('src/backends/redis/lua').filter(
    (file) => !/\/(?:check-server|dialect|eviction-policy|list-names|note-stripes)\./.test(file),
  ),
];

/** Programs from a new seed differ from run to run, so no mutant answers for their failures. */
const MOCHA =
  '--expose-gc node_modules/mocha/bin/mocha.js --exit --bail --timeout 20000 --invert --grep from.a.new.seed';
const SIMULATOR =
  '--import ./test/support/typescript.mjs verification/simulation/main.ts --first --no-shrink --quiet';

/**
 * The runs that may notice a mutant, the quick ones first: without the pins of the scripts on the
 * wire, which notice every mutant.
 */
const SCRIPTS = ['!(lock-step|wire)', 'lock-step'].map(
  (name) => `${MOCHA} test/scripts/${name}.test.ts`,
);
const UNIT = `${MOCHA} test/{unit,telemetry}/**/!(otel|monitoring|memory-use|llm-gateway).test.ts test/conformance/memory.test.ts`;
const REDIS = `${MOCHA} test/conformance/redis.test.ts`;
const SIMULATIONS = [
  `${SIMULATOR} --processes 4 --seed 1 --seeds 150 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --nodes 3 --processes 3 --seed 1 --seeds 20 --minutes 0.1 --pace 0.4`,
  `${SIMULATOR} --groups --processes 5 --minutes 0.5 --seed 1 --seeds 20`,
];

function runsFor(file: string): readonly string[] {
  if (file.endsWith('.lua')) return SCRIPTS;
  return file.includes('/redis/') ? [UNIT, REDIS] : [UNIT, ...SIMULATIONS];
}

/** Each run takes far less without a mutant, in milliseconds. */
const LONGEST = 300_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
  },
});

await main(Number(values.every));

async function main(every: number): Promise<void> {
  const wanted = FILES.filter((file) => values.only.some((part) => file.includes(part)));
  const mutants = wanted.flatMap((file) => mutantsOf(file, sourceOf(file)).filter(isDifferent));
  const sample = mutants.filter((_, i) => (i + 1) % every === 0);
  const tree = copyTree();
  const results: { readonly file: string; readonly noticed: boolean }[] = [];
  const passed = new Set<string>();
  for (const mutant of sample) {
    const { file, text, line, before, after } = mutant;
    const runs = runsFor(file).join();
    const failure = passed.has(runs) ? undefined : await failureOf(tree, file, sourceOf(file));
    if (failure !== undefined) throw new Error(`fails without a mutant: ${failure}`);
    passed.add(runs);
    const noticed = (await failureOf(tree, file, text)) !== undefined;
    write(tree, file, sourceOf(file));
    results.push({ file, noticed });
    const what = noticed ? 'killed' : `survived ${file}:${line}\n  - ${before}\n  + ${after}`;
    console.log(`${results.length}/${sample.length} ${what}`);
  }
  const rows = ['', ...new Set(results.map(({ file }) => file))].map((file) => {
    const own = results.filter((result) => result.file.startsWith(file));
    const killed = own.filter(({ noticed }) => noticed).length;
    const score = `${((100 * killed) / own.length).toFixed(1)} %`;
    return [file || 'all', ...[own.length, killed, own.length - killed].map(String), score];
  });
  console.log(markdownTable(['file', 'mutants', 'killed', 'survived', 'score'], rows));
}

/** The first run that fails with that text of a file, or does not end, and its output. */
async function failureOf(tree: string, file: string, text: string): Promise<string | undefined> {
  write(tree, file, text);
  for (const run of runsFor(file)) {
    const limits = {
      cwd: tree,
      timeout: LONGEST,
      killSignal: 'SIGKILL',
      maxBuffer: 1 << 26,
    } as const;
    try {
      await execute(process.execPath, run.split(' '), limits);
    } catch (error) {
      return `${run}\n${inspect(error)}`;
    }
  }
  return undefined;
}

/** A copy of the repository, to be changed at will. */
function copyTree(): string {
  const tree = makeTemporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'), 'dir');
  const filter = (path: string): boolean => !path.includes('node_modules', ROOT.length);
  const entries =
    'package.json .mocharc.json tsconfig.json src test scripts verification examples docs';
  for (const entry of entries.split(' ')) {
    cpSync(join(ROOT, entry), join(tree, entry), { recursive: true, filter });
  }
  return tree;
}

/** Writes a source file, and the module of the scripts. */
function write(tree: string, file: string, text: string): void {
  writeFileSync(join(tree, file), text);
  if (!file.endsWith('.lua')) return;
  execFileSync(process.execPath, [join(tree, 'scripts/embed-lua.mjs')], { stdio: 'pipe' });
}

/** A change of types alone makes no other program, and some changes make none. */
function isDifferent({ file, text }: Mutant): boolean {
  if (file.endsWith('.lua')) return true;
  try {
    const [mine, other] = [text, sourceOf(file)].map((code) =>
      transformSync(code, { loader: 'ts' }),
    );
    return mine?.code !== other?.code;
  } catch {
    return false;
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .toSorted()
    .map((name) => `${folder}/${name}`);
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
