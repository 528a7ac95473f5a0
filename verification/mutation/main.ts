import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { markdownTable } from '../support/markdown-table.js';
import { judge, measure, type Outcome, runsFor } from './judge.js';
import { type Mutant, mutantsOf } from './mutants.js';
import { compiled, filesBelow, ROOT, ScratchTree } from './scratch-tree.js';

const USAGE = `npm run mutation -- [--only PART]... [--every N] [--workers N]
  --only     only files whose path has PART in it; default: all
  --every    each Nth mutant only, spread over all files; default: 1
  --workers  mutants at a time; default: 1`;

/** The life of a permit, the code that talks to the scripts, and the scripts. */
const FILES = [
  ...filesBelow('src/core'),
  'src/handle.ts',
  'src/events.ts',
  'src/time/server-clock.ts',
  'src/time/shared-timer.ts',
  ...'acquire extend release admin operation wire-text redis-backend script-runner redis-errors keys'
    .split(' ')
    .map((name) => `src/backends/redis/${name}.ts`),
  // Scripts that only look at a server hold no permits.
  ...filesBelow('src/backends/redis/lua').filter(
    (file) => !/\/(?:check-server|dialect|eviction|list-names|note-stripes)\./.test(file),
  ),
];

interface Result {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
    workers: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await main(Number(values.every), Number(values.workers));

async function main(every: number, workers: number): Promise<void> {
  const wanted = FILES.filter((file) => values.only.some((part) => file.includes(part)));
  const sources = new Map(wanted.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const mutants = [...sources]
    .flatMap(([file, text]) => mutantsOf(file, text).filter((each) => isDifferent(each, text)))
    .filter((_, i) => (i + 1) % every === 0);
  const runs = new Set(mutants.flatMap(({ file }) => runsFor(file)));
  const trees = Array.from({ length: workers }, () => new ScratchTree());
  const [first] = trees;
  if (first === undefined) throw new RangeError('--workers: expected at least 1');
  const patience = await measure(first, runs);
  const results: Result[] = [];
  const left = mutants.values();
  const work = async (tree: ScratchTree): Promise<void> => {
    for (const mutant of left) {
      const outcome = await judge(tree, mutant, sources.get(mutant.file) ?? '', patience);
      results.push({ mutant, outcome });
      tell({ mutant, outcome }, `${results.length}/${mutants.length}`);
    }
  };
  await Promise.all(trees.map(work));
  console.log(totals(results));
}

/** A change of types alone makes no other program, and some changes make none. */
function isDifferent({ file, text }: Mutant, original: string): boolean {
  if (file.endsWith('.lua')) return true;
  try {
    return compiled(text) !== compiled(original);
  } catch {
    return false;
  }
}

function tell({ mutant, outcome }: Result, done: string): void {
  const { file, line, before, after } = mutant;
  if (outcome !== 'survived') return console.log(`${done} ${outcome}`);
  console.log(`${done} survived ${file}:${line}\n  - ${before}\n  + ${after}`);
}

function totals(results: readonly Result[]): string {
  const files = [...new Set(results.map(({ mutant }) => mutant.file))].toSorted();
  const rows = ['', ...files].map((file) => {
    const own = results.filter(({ mutant }) => mutant.file.startsWith(file));
    const survived = own.filter(({ outcome }) => outcome === 'survived').length;
    const noticed = own.length - survived;
    const score = `${((100 * noticed) / own.length).toFixed(1)} %`;
    return [file || 'all', ...[own.length, noticed, survived].map(String), score];
  });
  return markdownTable(['file', 'mutants', 'killed', 'survived', 'score'], rows);
}
