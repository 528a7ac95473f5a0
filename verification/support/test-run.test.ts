import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { makeTemporaryFolder, removeTemporaryFolder } from '../../test/support/temporary-folder.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = 'test/support/fixtures';
const mocha = createRequire(import.meta.url).resolve('mocha/bin/mocha.js');
const reporter = ['--reporter', './test/support/totals-reporter.ts'];
const bare = ['--no-config', '--timeout', '30000', '--node-option', 'import=tsx', ...reporter];

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly lastLine: string;
}

describe('totals reporter', () => {
  it('ends with passed, failed and skipped tests', async () => {
    const run = await runNode([mocha, ...bare, `${fixtures}/mixed-results.ts`]);
    expect(run).to.include({ code: 1, lastLine: '1 passed, 1 failed, 1 skipped' });
  });

  it('leaves out that nothing was skipped', async () => {
    const args = [...bare, '--grep', 'passes', `${fixtures}/mixed-results.ts`];
    const run = await runNode([mocha, ...args]);
    expect(run).to.include({ code: 0, lastLine: '1 passed, 0 failed' });
  });

  it('fails a run without tests', async () => {
    const args = [...bare, '--grep', 'no such title', `${fixtures}/mixed-results.ts`];
    const run = await runNode([mocha, ...args]);
    expect(run).to.include({ code: 1, lastLine: '0 passed, 0 failed' });
  });
});

describe('test setup', () => {
  it('fails the test during which something went wrong unseen', async () => {
    const args = [
      ...bare,
      '--require',
      'test/support/setup.ts',
      `${fixtures}/background-problems.ts`,
    ];
    const run = await runNode([mocha, ...args]);
    expect(run).to.include({ code: 3, lastLine: '1 passed, 3 failed' });
    expect(run.output).to.include('nobody listens').and.to.include('TimeoutOverflowWarning');
  });
});

describe('test run with files side by side', () => {
  const parallel = [...bare, '--parallel', '--jobs', '2', '--require', 'test/support/setup.ts'];

  it('counts what passed, failed and was skipped in all of them', async () => {
    const names = ['mixed-results', 'ends-its-process', 'background-problems'];
    const files = names.map((name) => `${fixtures}/${name}.ts`);
    const run = await runNode([mocha, ...parallel, ...files]);
    expect(run).to.include({ code: 5, lastLine: '2 passed, 5 failed, 1 skipped' });
    expect(run.output).to.include('nobody listens').and.to.include('terminated');
  });
});

describe('test run without a server', () => {
  const args = ['--import', 'tsx', 'test/support/run.ts', '--no-config', '--node-option'];
  const run = [...args, 'import=tsx', ...reporter, '--spec', `${fixtures}/needs-server.ts`];
  let folder: string;

  // A PATH that holds nothing but node: neither a server nor an apt-get to install one.
  beforeEach(() => {
    folder = makeTemporaryFolder();
    mkdirSync(join(folder, 'bin'));
    symlinkSync(process.execPath, join(folder, 'bin', 'node'));
  });

  afterEach(() => removeTemporaryFolder(folder));

  it('shows the tests that need one as skipped', async () => {
    const outcome = await runNode(run, { PATH: join(folder, 'bin'), CI: undefined });
    expect(outcome).to.include({ code: 0, lastLine: '1 passed, 0 failed, 1 skipped' });
    expect(outcome.output).to.include('skipped: no redis-server on this machine');
  });

  it('fails in CI', async () => {
    const outcome = await runNode(run, { PATH: join(folder, 'bin'), CI: 'true' });
    expect(outcome.code).to.equal(1);
    expect(outcome.output).to.include('No redis-server found').and.not.to.include('passed');
  });
});

function runNode(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const env = { ...process.env, REDIS_SERVER: undefined, ...environment };
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, stdout] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, output, lastLine: stdout.trimEnd().split('\n').at(-1) ?? '' });
    });
  });
}
