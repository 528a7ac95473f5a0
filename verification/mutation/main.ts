import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from '../support/markdown-table.js';
import { LUA_FILES, runLua } from './lua-run.js';
import type { Mutant, Outcome, Result } from './mutant.js';
import { ROOT } from './scratch-tree.js';
import type { Progress } from './judge-all.js';
import { TYPESCRIPT_FILES, runTypeScript } from './typescript-run.js';

const USAGE = `npm run mutation -- [--only PART]... [--every N] [--again FILE] [--quick] [--workers N] [--output FILE]
  --only     run over files whose path has PART in it; default: all
  --every    take each Nth mutant only, spread over all files; default: 1
  --again    take only what survived or was unreached in the run whose --output FILE was; the sources unchanged
  --quick    Lua: by the quick tests alone, without those in lock-step with the memory backend and the large ones
  --workers  mutants at a time; default: 1
  --output   where the results go, a line of JSON for each; default: coverage/mutation.jsonl`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
    again: { type: 'string' },
    quick: { type: 'boolean', default: false },
    workers: { type: 'string', default: '1' },
    output: { type: 'string', default: 'coverage/mutation.jsonl' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await main();

async function main(): Promise<void> {
  const workers = Number(values.workers);
  const every = Number(values.every);
  const living = values.again === undefined ? undefined : survivorsIn(resolve(ROOT, values.again));
  const isSampled = (mutant: Mutant): boolean =>
    mutant.id % every === 0 && (living === undefined || living.has(changeOf(mutant)));
  const output = resolve(ROOT, values.output);
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, '');
  const note: Progress = (result, done, total) => {
    // At once, so that a stopped run has reported its results.
    appendFileSync(output, `${JSON.stringify(result)}\n`);
    tell(result, done, total);
  };
  const isWanted = (file: string): boolean => values.only.some((part) => file.includes(part));
  const typeScript = TYPESCRIPT_FILES.filter(isWanted);
  const lua = LUA_FILES.filter(isWanted);
  const results = [
    ...(typeScript.length > 0 ? await runTypeScript(typeScript, workers, isSampled, note) : []),
    ...(lua.length > 0 ? await runLua(lua, workers, isSampled, note, values.quick) : []),
  ];
  console.log(totals(results));
}

/** The survivors of an earlier run, by place and text, because ids differ from run to run. */
function survivorsIn(output: string): ReadonlySet<string> {
  const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
  const results = lines.map((line): unknown => JSON.parse(line)).filter(isResult);
  const living = results.filter(({ outcome }) => outcome === 'survived' || outcome === 'unreached');
  return new Set(living.map(({ mutant }) => changeOf(mutant)));
}

function isResult(line: unknown): line is Result {
  return typeof line === 'object' && line !== null && 'mutant' in line && 'outcome' in line;
}

function changeOf({ file, line, operator, before, after }: Mutant): string {
  return JSON.stringify([file, line, operator, before, after]);
}

function tell({ mutant, outcome }: Result, done: number, total: number): void {
  if (outcome === 'survived' || outcome === 'unreached') {
    const { file, line, before, after } = mutant;
    console.log(`${done}/${total} ${outcome} ${file}:${line}\n  - ${before}\n  + ${after}`);
  } else if (done % 50 === 0) console.log(`${done}/${total}`);
}

function totals(results: readonly Result[]): string {
  const files = [...new Set(results.map(({ mutant }) => mutant.file))];
  const rows = files.map((file) =>
    totalsRow(
      file,
      results.filter(({ mutant }) => mutant.file === file),
    ),
  );
  const head = ['file', 'mutants', 'killed', 'survived', 'unreached', 'score'];
  return markdownTable(head, [...rows, totalsRow('all', results)]);
}

function totalsRow(name: string, results: readonly Result[]): string[] {
  const count = (wanted: Outcome): number =>
    results.filter(({ outcome }) => outcome === wanted).length;
  // A mutant with which the tests do not end is noticed, too.
  const caught = count('killed') + count('timeout');
  const share = `${((100 * caught) / results.length).toFixed(1)} %`;
  const counts = [results.length, caught, count('survived'), count('unreached')];
  return [name, ...counts.map(String), share];
}
