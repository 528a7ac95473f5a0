import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LUA_FILES, runLua } from './lua-run.js';
import type { Mutant, Outcome, Result } from './mutant.js';
import { ROOT } from './scratch-tree.js';
import type { Progress } from './typescript-run.js';
import { TYPESCRIPT_FILES, runTypeScript } from './typescript-run.js';

const USAGE = `npm run mutation -- [--only PART]... [--every N] [--workers N] [--output FILE]
  --only     run over files whose path has PART in it; default: all
  --every    take each Nth mutant only, spread over all files; default: 1
  --workers  mutants at a time; default: 1
  --output   where the results go, a line of JSON for each; default: coverage/mutation.jsonl`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
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
  const isSampled = ({ id }: Mutant): boolean => id % every === 0;
  const output = resolve(ROOT, values.output);
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, '');
  const note: Progress = (result, done, total) => {
    // At once, so that a run that was stopped has told what it knew.
    appendFileSync(output, `${JSON.stringify(result)}\n`);
    tell(result, done, total);
  };
  const isWanted = (file: string): boolean => values.only.some((part) => file.includes(part));
  const typeScript = TYPESCRIPT_FILES.filter(isWanted);
  const lua = LUA_FILES.filter(isWanted);
  const results = [
    ...(typeScript.length > 0 ? await runTypeScript(typeScript, workers, isSampled, note) : []),
    ...(lua.length > 0 ? await runLua(lua, workers, isSampled, note) : []),
  ];
  for (const line of totals(results)) console.log(line);
}

function tell({ mutant, outcome }: Result, done: number, total: number): void {
  if (outcome === 'survived' || outcome === 'unreached') {
    const { file, line, before, after } = mutant;
    console.log(`${done}/${total} ${outcome} ${file}:${line}\n  - ${before}\n  + ${after}`);
  } else if (done % 50 === 0) console.log(`${done}/${total}`);
}

function totals(results: readonly Result[]): string[] {
  const files = [...new Set(results.map(({ mutant }) => mutant.file))];
  return [
    '| file | mutants | killed | survived | unreached | score |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...files.map((file) =>
      totalsRow(
        file,
        results.filter(({ mutant }) => mutant.file === file),
      ),
    ),
    totalsRow('all', results),
  ];
}

function totalsRow(name: string, results: readonly Result[]): string {
  const count = (wanted: Outcome): number =>
    results.filter(({ outcome }) => outcome === wanted).length;
  // A mutant with which the tests do not end is noticed, too.
  const caught = count('killed') + count('timeout');
  const share = `${((100 * caught) / results.length).toFixed(1)} %`;
  const cells = [name, results.length, caught, count('survived'), count('unreached'), share];
  return `| ${cells.join(' | ')} |`;
}
