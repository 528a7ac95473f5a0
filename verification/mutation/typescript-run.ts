import { join } from 'node:path';
import { judgeAll, type Progress } from './judge-all.js';
import { KillerProcess } from './killer-process.js';
import type { KillerOrder, TestRecord } from './killer.js';
import { firstThatFails, longRunsOf } from './long-runs.js';
import type { Mutant, Result } from './mutant.js';
import { filesBelow, ROOT, ScratchTree } from './scratch-tree.js';
import { instrument } from './typescript-mutants.js';

/** The life of a permit, and the code that talks to the scripts. */
const CORE = filesBelow(join(ROOT, 'src/core')).map((file) => `core/${file}`);
const AROUND_IT = ['handle', 'events', 'time/server-clock', 'time/shared-timer'];
const REDIS = [
  'acquire',
  'extend',
  'release',
  'admin',
  'operation',
  'wire-text',
  'redis-backend',
  'script-runner',
  'redis-errors',
  'keys',
];

export const TYPESCRIPT_FILES: readonly string[] = [
  ...CORE.map((file) => `src/${file}`),
  ...AROUND_IT.map((name) => `src/${name}.ts`),
  ...REDIS.map((name) => `src/backends/redis/${name}.ts`),
];

/**
 * For tests that end by themselves, in milliseconds: several times what they take when nothing is
 * changed.
 */
const PATIENCE = 10_000;

/** Tests without a server: they are quick, and time is theirs to move. */
const FOLDERS = ['test/unit', 'test/telemetry', 'test/conformance'];

/** A test that takes longer, in milliseconds, is asked only when no other noticed. */
const SLOW = 300;

export async function runTypeScript(
  wanted: readonly string[],
  workers: number,
  isSampled: (mutant: Mutant) => boolean,
  onResult: Progress,
): Promise<Result[]> {
  const tree = new ScratchTree();
  const killers = Array.from({ length: workers }, () => new KillerProcess(tree.root));
  try {
    const sample = (await plant(tree, wanted)).filter(isSampled);
    const seen = await observe(tree);
    for (const runs of new Set(wanted.map(longRunsOf))) {
      const failing = await firstThatFails(runs, tree.root, 0);
      if (failing !== undefined) throw new Error(`fails with no mutant on: ${failing}`);
    }
    return await judgeAll(
      sample,
      killers,
      async (killer, mutant) => judgeAtLength(tree.root, await judge(killer, mutant, seen)),
      onResult,
    );
  } finally {
    for (const killer of killers) killer.stop();
  }
}

async function plant(tree: ScratchTree, files: readonly string[]): Promise<Mutant[]> {
  const mutants: Mutant[] = [];
  for (const file of files) {
    const instrumented = await instrument(file, tree.read(file), mutants.length + 1);
    tree.writeTypeScript(file, instrumented.text);
    mutants.push(...instrumented.mutants);
  }
  return mutants;
}

interface Seen {
  readonly files: readonly string[];
  readonly tests: readonly TestRecord[];
  readonly atLoad: ReadonlySet<number>;
}

/** Which test reaches which mutant. */
async function observe(tree: ScratchTree): Promise<Seen> {
  const files = FOLDERS.flatMap((folder) =>
    filesBelow(join(tree.root, folder)).map((file) => `${folder}/${file}`),
  ).filter(isKiller);
  const killer = new KillerProcess(tree.root);
  const answer = await killer.ask({ files, limits: undefined, mutant: 0 }, 180_000);
  killer.stop();
  if (answer === undefined) throw new Error('the tests did not end, with no mutant on');
  if (answer.failed !== undefined) throw new Error(`fails with no mutant on: ${answer.failed}`);
  return { files, tests: answer.tests, atLoad: new Set(answer.atLoad) };
}

/**
 * Those that take a server, other packages or files of `docs`, and what counts instructions:
 * mutants stand in them.
 */
const LEFT_OUT = /\/otel|\/monitoring|\/memory\/work|\/conformance\/(?!memory)/;

function isKiller(file: string): boolean {
  return file.endsWith('.test.js') && !LEFT_OUT.test(file);
}

/** A long run may notice a mutant that no quick test noticed. */
async function judgeAtLength(root: string, result: Result): Promise<Result> {
  const { mutant, outcome } = result;
  if (outcome === 'killed' || outcome === 'timeout') return result;
  const by = await firstThatFails(longRunsOf(mutant.file), root, mutant.id);
  return by === undefined ? result : { ...result, outcome: 'killed', by };
}

async function judge(killer: KillerProcess, mutant: Mutant, seen: Seen): Promise<Result> {
  const { id } = mutant;
  const atLoad = seen.atLoad.has(id);
  const reaching = atLoad ? seen.tests : seen.tests.filter(({ reached }) => reached.includes(id));
  if (reaching.length === 0) return { mutant, outcome: 'unreached', by: undefined };
  // Modules compute their constants once in each process.
  if (atLoad) killer.stop();
  const quick = reaching.filter(({ duration }) => duration <= SLOW);
  const slow = reaching.filter(({ duration }) => duration > SLOW);
  try {
    for (const tests of [quick, slow]) {
      const verdict = await ask(killer, mutant, tests, seen);
      if (verdict !== undefined) return verdict;
    }
    return { mutant, outcome: 'survived', by: undefined };
  } finally {
    if (atLoad) killer.stop();
  }
}

/** Undefined: none of the tests noticed. */
async function ask(
  killer: KillerProcess,
  mutant: Mutant,
  tests: readonly TestRecord[],
  seen: Seen,
): Promise<Result | undefined> {
  let left = tests;
  while (left.length > 0) {
    const answer = await killer.ask(orderOf(mutant, left, seen), PATIENCE + 3 * durationOf(left));
    if (answer === undefined) return { mutant, outcome: 'timeout', by: undefined };
    const { failed } = answer;
    if (failed === undefined) return undefined;
    // On a busy machine a test may fail by itself, so only a test that fails twice has noticed.
    const again = left.filter(({ title }) => title === failed);
    const second = await killer.ask(orderOf(mutant, again, seen), PATIENCE + 3 * durationOf(again));
    // The failure may be in a hook: then there is no such test.
    if (again.length === 0 || second === undefined || second.failed !== undefined)
      return { mutant, outcome: 'killed', by: failed };
    left = left.filter(({ title }) => title !== failed);
  }
  return undefined;
}

function orderOf({ id }: Mutant, tests: readonly TestRecord[], { files }: Seen): KillerOrder {
  // A mutant that waits for ever must be distinguished from a slow test.
  const limits = Object.fromEntries(
    tests.map(({ title, duration }) => [title, 1000 + 5 * duration]),
  );
  return { files, limits, mutant: id };
}

function durationOf(tests: readonly TestRecord[]): number {
  return tests.reduce((sum, { duration }) => sum + duration, 0);
}
