import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT } from '../../test/tooling/run-program.js';
import { findExecutable } from '../../test/support/find-executable.js';

interface Result {
  readonly title: string;
  readonly property: string;
  readonly states: number;
  readonly verdict: string;
  readonly expected: string;
}

interface Run {
  readonly exitCode: number;
  readonly results: readonly Result[];
}

/**
 * Long enough for a machine that is busy with other tests; `npm run formal` does the long searches.
 */
const PATIENCE = 600_000;

function runChecks(...args: string[]): Promise<Run> {
  const script = join(ROOT, 'verification/formal/check.mjs');
  const options = { cwd: ROOT, timeout: PATIENCE, maxBuffer: 32 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, '--json', ...args], options, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr, { cause: error }));
      else resolve({ exitCode: Number(error?.code ?? 0), results: JSON.parse(stdout) as Result[] });
    });
  });
}

describe('models of waiting and granting, and of the order of the queue', function () {
  this.timeout(PATIENCE);
  let run: Run;

  before(async function () {
    const missing = ['spin', 'gcc'].filter((program) => findExecutable(program) === undefined);
    if (missing.length > 0) {
      console.log(`      not installed: ${missing.join(', ')} (Debian: apt-get install spin gcc)`);
      this.skip();
    }
    run = await runChecks('--quick');
  });

  it('keeps every property, and loses one with each rule that is left out', () => {
    const wrong = run.results.filter(({ verdict, expected }) => verdict !== expected);
    expect(wrong).to.deep.equal([]);
    expect(run.exitCode).to.equal(0);
  });

  it('was searched for safety and for both kinds of progress', () => {
    const kept = run.results.filter(({ expected }) => expected === 'holds');
    expect(new Set(kept.map(({ property }) => property))).to.have.keys('safety', 'served', 'gone');
    for (const { title, states } of kept) expect(states, title).to.be.above(1000);
  });

  it('has a broken variant for each rule that the model can leave out', async () => {
    const read = (name: string) => readFile(join(ROOT, 'verification/formal', name), 'utf8');
    const models = await Promise.all([read('semaphore.pml'), read('order.pml')]);
    const rules = new Set(models.join('').match(/BREAK_[A-Z][A-Z_]+/g));
    const broken = run.results.filter(({ expected }) => expected !== 'holds');
    expect(broken).to.have.lengthOf(rules.size);
  });

  it('counts as failed when nothing was checked', async () => {
    const { exitCode, results } = await runChecks('no such title');
    expect(results).to.deep.equal([]);
    expect(exitCode).to.be.above(0);
  });
});
