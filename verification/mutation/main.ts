import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { markdownTable } from '../support/markdown-table.js';
import { failureOf, runsFor } from './judge.js';
import { type Mutant, mutantsOf } from './mutants.js';
import { compiled, filesBelow, ROOT, ScratchTree } from './scratch-tree.js';

const USAGE = `npm run mutation -- [--only PART]... [--every N]
  --only     only files whose path has PART in it; default: all
  --every    each Nth mutant only, spread over all files; default: 1`;

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
  readonly noticed: boolean;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [''] },
    every: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await main(Number(values.every));

async function main(every: number): Promise<void> {
  const wanted = FILES.filter((file) => values.only.some((part) => file.includes(part)));
  const sources = new Map(wanted.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
  const mutants = [...sources]
    .flatMap(([file, text]) => mutantsOf(file, text).filter((each) => isDifferent(each, text)))
    .filter((_, i) => (i + 1) % every === 0);
  const tree = new ScratchTree();
  const results: Result[] = [];
  const passed = new Set<string>();
  for (const [file, text] of sources) {
    const own = mutants.filter((mutant) => mutant.file === file);
    const runs = String(runsFor(file));
    if (own.length > 0 && !passed.has(runs)) {
      const failure = await failureOf(tree, file, text);
      if (failure !== undefined) throw new Error(`fails without a mutant: ${failure}`);
      passed.add(runs);
    }
    for (const mutant of own) {
      const noticed = (await failureOf(tree, file, mutant.text)) !== undefined;
      results.push({ mutant, noticed });
      const { line, before, after } = mutant;
      const what = noticed ? 'killed' : `survived ${file}:${line}\n  - ${before}\n  + ${after}`;
      console.log(`${results.length}/${mutants.length} ${what}`);
    }
    tree.write(file, text);
  }
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

function totals(results: readonly Result[]): string {
  const files = [...new Set(results.map(({ mutant }) => mutant.file))].toSorted();
  const rows = ['', ...files].map((file) => {
    const own = results.filter(({ mutant }) => mutant.file.startsWith(file));
    const killed = own.filter(({ noticed }) => noticed).length;
    const score = `${((100 * killed) / own.length).toFixed(1)} %`;
    return [file || 'all', ...[own.length, killed, own.length - killed].map(String), score];
  });
  return markdownTable(['file', 'mutants', 'killed', 'survived', 'score'], rows);
}
