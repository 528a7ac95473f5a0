import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';

const fixtures = 'test/support/fixtures';
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const reporter = ['--reporter', './test/support/totals-reporter.ts'];
const setup = ['--no-config', '--require', 'test/support/setup.ts', ...reporter];
const parallel = [mocha, ...setup, '--node-option', 'import=tsx', '--parallel', '--jobs', '2'];

/** A run in a separate process, and what it has written so far. */
class Run {
  readonly child: ChildProcess;
  output = '';

  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, REDIS_SERVER: undefined, ...environment };
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    this.child = spawn(process.execPath, args, { cwd, env });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
  }

  async end(): Promise<{ code: unknown; totals: string | undefined }> {
    const [code] = (await once(this.child, 'close')) as unknown[];
    return { code, totals: /^\d+ passed, .*/m.exec(this.output)?.[0] };
  }
}

describe('a test run', () => {
  it('counts what passed, failed and was skipped, with what went wrong unseen', async () => {
    const files = ['wrong-results', 'ends-its-process'].map((name) => `${fixtures}/${name}.ts`);
    const run = new Run([...parallel, ...files]);
    expect(await run.end()).to.deep.equal({ code: 5, totals: '1 passed, 5 failed, 1 skipped' });
    const problems = ['on purpose', 'nobody listens', 'TimeoutOverflowWarning', 'terminated'];
    for (const problem of ['MaxListenersExceeded', ...problems])
      expect(run.output).to.include(problem);
  });

  it('fails without a single test', async () => {
    const run = new Run([...parallel, '--grep', 'no such title', `${fixtures}/wrong-results.ts`]);
    expect(await run.end()).to.deep.equal({ code: 1, totals: '0 passed, 0 failed' });
  });

  for (const [ci, expected, said] of [
    [undefined, { code: 0, totals: '1 passed, 0 failed, 1 skipped' }, 'no redis-server on this'],
    ['true', { code: 1, totals: undefined }, 'No redis-server found'],
  ] as const) {
    it(`without a server ${ci === undefined ? 'skips the tests that need one' : 'fails in CI'}`, async () => {
      // A PATH that holds nothing but node: neither a server nor an apt-get to install one.
      const folder = makeTemporaryFolder();
      mkdirSync(join(folder, 'bin'));
      symlinkSync(process.execPath, join(folder, 'bin', 'node'));
      const args = ['--import', 'tsx', 'test/support/run.ts', '--node-option', 'import=tsx'];
      const spec = ['--spec', `${fixtures}/needs-server.ts`];
      const run = new Run([...args, ...setup, ...spec], { PATH: join(folder, 'bin'), CI: ci });
      expect(await run.end()).to.deep.equal(expected);
      expect(run.output).to.include(said);
      await removeTemporaryFolder(folder);
    });
  }
});
