import { expect } from 'chai';
import { symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';
import { runProgram } from '../../test/tooling/run-program.js';

const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const setup =
  '--no-config --require test/support/setup.ts --reporter ./test/support/totals-reporter.ts --node-option import=tsx';

/** `files`: of the fixtures. */
async function run(
  program: readonly string[],
  files: readonly string[],
  env: readonly string[] = [],
) {
  const paths = files.map((file) => `test/support/fixtures/${file}.ts`);
  const node = ['env', ...env, process.execPath, ...program];
  const command = [...node, ...setup.split(' '), '--spec', ...paths];
  const result = await runProgram(command, { env: { REDIS_SERVER: undefined } });
  const output = result.stdout + result.stderr;
  return { code: result.code, totals: /^\d+ passed, .*/m.exec(output)?.[0], output };
}

describe('a test run', () => {
  it('counts what passed, failed and was skipped, with what went wrong unseen', async () => {
    const parallel = [mocha, '--parallel', '--jobs', '2'];
    const { output, ...end } = await run(parallel, ['wrong-results', 'ends-its-process']);
    expect(end).to.deep.equal({ code: 5, totals: '1 passed, 5 failed, 1 skipped' });
    const problems = ['on purpose', 'nobody listens', 'TimeoutOverflowWarning', 'terminated'];
    for (const problem of ['MaxListenersExceeded', ...problems]) expect(output).to.include(problem);
    const none = await run([...parallel, '--grep', 'no such title'], ['wrong-results']);
    expect(none).to.include({ code: 1, totals: '0 passed, 0 failed' });
  });

  it('without a server skips the tests that need it, and fails in CI', async () => {
    // A PATH that holds nothing but node: neither a server nor an apt-get to install one.
    const bin = makeTemporaryFolder();
    symlinkSync(process.execPath, join(bin, 'node'));
    for (const [ci, code, totals, said] of [
      ['', 0, '1 passed, 0 failed, 1 skipped', 'no redis-server on this'],
      ['true', 1, undefined, 'No redis-server found'],
    ] as const) {
      const start = ['--import', 'tsx', 'test/support/run.ts'];
      const { output, ...end } = await run(start, ['needs-server'], [`PATH=${bin}`, `CI=${ci}`]);
      expect(end).to.deep.equal({ code, totals });
      expect(output).to.include(said);
    }
  });
});
