// Run in a separate process inside the scratch tree. Takes orders from its parent, one after the
// other.
import { resolve } from 'node:path';
import Mocha from 'mocha';
import { MUTANT_SWITCH } from './mutant-switch.js';

export interface KillerOrder {
  /**
   * Test files, from the scratch tree's root. The first order loads them, later ones use what is
   * loaded.
   */
  readonly files: readonly string[];
  /**
   * Milliseconds that each test may take, by its full title; undefined: all tests, for as long as
   * they want.
   */
  readonly limits: Readonly<Record<string, number>> | undefined;
  /** The mutant that is on; 0: none. */
  readonly mutant: number;
}

export interface KillerAnswer {
  /** The first test that failed, with no mutant also why. */
  readonly failed: string | undefined;
  readonly tests: readonly TestRecord[];
  /** Mutants that are reached while the modules load. */
  readonly atLoad: readonly number[];
}

export interface TestRecord {
  readonly title: string;
  readonly file: string;
  /** Milliseconds. */
  readonly duration: number;
  readonly reached: readonly number[];
}

const reached = new Set<number>();
let current = 0;
let loaded: Promise<Loaded> | undefined;

interface Body {
  readonly test: Mocha.Test;
  readonly fn: Mocha.Test['fn'];
}

interface Loaded {
  readonly mocha: Mocha;
  readonly atLoad: readonly number[];
  /**
   * All tests of each suite with their bodies: a run keeps some of them only, and its hooks wrap
   * bodies.
   */
  readonly whole: ReadonlyMap<Mocha.Suite, readonly Body[]>;
}

Object.assign(globalThis, {
  [MUTANT_SWITCH]: (id: number): boolean => {
    if (current === 0) reached.add(id);
    return id === current;
  },
});

process.on('message', (order: KillerOrder) => {
  carryOut(order).then(
    (answer) => process.send?.(answer),
    // A listener of the tests would swallow it, and the parent would wait.
    (error: unknown) => process.send?.({ failed: String(error), tests: [], atLoad: [] }),
  );
});
process.on('disconnect', () => process.exit());

async function carryOut(order: KillerOrder): Promise<KillerAnswer> {
  current = order.mutant;
  loaded ??= load(order.files);
  const { mocha, atLoad, whole } = await loaded;
  mocha.bail(order.mutant !== 0);
  for (const [suite, bodies] of whole) {
    for (const { test, fn } of bodies) test.fn = fn;
    suite.tests = bodies.map(({ test }) => test).filter((test) => isWanted(test, order));
  }
  return run(mocha, atLoad);
}

async function load(files: readonly string[]): Promise<Loaded> {
  const setup: unknown = await import(resolve('test/support/setup.js'));
  if (!hasHooks(setup)) throw new Error('test/support/setup has no mochaHooks');
  const mocha = new Mocha({ timeout: 20_000, reporter: NoReport });
  mocha.cleanReferencesAfterRun(false);
  mocha.rootHooks(setup.mochaHooks);
  for (const file of files) mocha.addFile(resolve(file));
  await mocha.loadFilesAsync();
  const whole = new Map<Mocha.Suite, readonly Body[]>();
  const note = (suite: Mocha.Suite): void => {
    whole.set(
      suite,
      suite.tests.map((test) => ({ test, fn: test.fn })),
    );
    suite.suites.forEach(note);
  };
  note(mocha.suite);
  return { mocha, atLoad: drain(), whole };
}

function isWanted(test: Mocha.Test, { limits }: KillerOrder): boolean {
  if (limits === undefined) return true;
  const limit = limits[test.fullTitle()];
  if (limit !== undefined) test.timeout(limit);
  return limit !== undefined;
}

function run(mocha: Mocha, atLoad: readonly number[]): Promise<KillerAnswer> {
  const tests: TestRecord[] = [];
  let failed: string | undefined;
  return new Promise((resolveRun) => {
    const runner = mocha.run(() => resolveRun({ failed, tests, atLoad }));
    runner.on('fail', (test: Mocha.Runnable, error: unknown) => {
      failed ??= `${test.fullTitle()}${current === 0 ? `: ${String(error)}` : ''}`;
    });
    runner.on('test end', (test: Mocha.Test) => {
      const { duration = 0, file = '' } = test;
      tests.push({ title: test.fullTitle(), file, duration, reached: drain() });
    });
  });
}

function drain(): number[] {
  const ids = [...reached];
  reached.clear();
  return ids;
}

/** Mocha wants a reporter; the answer is all that is read. */
class NoReport extends Mocha.reporters.Base {
  override epilogue(): void {}
}

function hasHooks(module: unknown): module is { readonly mochaHooks: Mocha.RootHookObject } {
  return typeof module === 'object' && module !== null && 'mochaHooks' in module;
}
