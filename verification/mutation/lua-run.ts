import { join } from 'node:path';
import type { KillerOrder } from './killer.js';
import type { LuaMutant } from './lua-mutants.js';
import { luaMutants } from './lua-mutants.js';
import type { Mutant, Result } from './mutant.js';
import { KillerProcess } from './killer-process.js';
import { filesBelow, ROOT, ScratchTree } from './scratch-tree.js';
import { judgeAll, type Progress } from './judge-all.js';

/** Scripts that stand in for a server, or only look at it, hold no permits. */
const LEFT_OUT = /^(?:check-server|dialect|eviction|list-names|note-stripes)\./;
const LUA_FOLDER = 'src/backends/redis/lua';

export const LUA_FILES: readonly string[] = filesBelow(join(ROOT, LUA_FOLDER))
  .filter((file) => !LEFT_OUT.test(file))
  .map((file) => `${LUA_FOLDER}/${file}`);

/**
 * The tests that may notice, the quick ones first; each stage runs only for what the one before let
 * live.
 */
const STAGES: readonly (readonly string[])[] = [['tickets', 'queue', 'keys'], ['lock-step']];

/** Milliseconds for one stage when nothing is changed, on a machine that is busy. */
const PATIENCE = 600_000;

/**
 * Programs from a new seed differ from run to run: what they find cannot be laid at a mutant's
 * door.
 */
const FROM_A_NEW_SEED = /from a new seed/;

interface Stage extends Pick<KillerOrder, 'files' | 'limits'> {
  /** Milliseconds for all stages: several times the duration without a change. */
  readonly patience: number;
}

export async function runLua(
  wanted: readonly string[],
  workers: number,
  isSampled: (mutant: Mutant) => boolean,
  onResult: Progress,
  isQuick: boolean,
): Promise<Result[]> {
  const trees = Array.from({ length: workers }, () => new ScratchTree());
  const [first] = trees;
  if (first === undefined) return [];
  let mutants: LuaMutant[] = [];
  for (const file of wanted) {
    mutants = [...mutants, ...luaMutants(file, first.read(file), mutants.length + 1)];
  }
  const stages: Stage[] = [];
  for (const names of isQuick ? STAGES.slice(0, 1) : STAGES)
    stages.push(await observe(first, names));
  const sample = mutants.filter(isSampled);
  return judgeAll(sample, trees, (tree, mutant) => judge(tree, mutant, stages), onResult);
}

/** How long its tests take when nothing is changed. */
async function observe(tree: ScratchTree, names: readonly string[]): Promise<Stage> {
  tree.embedLua();
  const files = names.map((name) => `test/scripts/${name}.test.js`);
  const killer = new KillerProcess(tree.root);
  const answer = await killer.ask({ files, limits: undefined, mutant: 0 }, PATIENCE);
  killer.stop();
  if (answer === undefined) throw new Error('the tests did not end, with no mutant on');
  const { failed = '' } = answer;
  if (failed !== '' && !FROM_A_NEW_SEED.test(failed)) throw new Error(`fails unchanged: ${failed}`);
  const kept = answer.tests.filter(({ title }) => !FROM_A_NEW_SEED.test(title));
  const limits = Object.fromEntries(
    kept.map(({ title, duration }) => [title, 3000 + 5 * duration]),
  );
  const patience = 30_000 + 5 * kept.reduce((sum, { duration }) => sum + duration, 0);
  return { files, limits, patience };
}

async function judge(
  tree: ScratchTree,
  planted: LuaMutant,
  stages: readonly Stage[],
): Promise<Result> {
  const { text, ...mutant } = planted;
  const whole = tree.read(mutant.file);
  tree.write(mutant.file, text);
  try {
    tree.embedLua();
    return await throughStages(tree, mutant, stages);
  } finally {
    tree.write(mutant.file, whole);
  }
}

async function throughStages(
  tree: ScratchTree,
  mutant: Mutant,
  stages: readonly Stage[],
): Promise<Result> {
  for (const stage of stages) {
    const killer = new KillerProcess(tree.root);
    const { patience, ...order } = stage;
    const answer = await killer.ask({ ...order, mutant: mutant.id }, patience);
    killer.stop();
    if (answer === undefined) return { mutant, outcome: 'timeout', by: undefined };
    if (answer.failed !== undefined) return { mutant, outcome: 'killed', by: answer.failed };
  }
  return { mutant, outcome: 'survived', by: undefined };
}
