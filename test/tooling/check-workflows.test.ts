import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runProgram } from './run-program.js';

const SCRIPT = 'scripts/check-workflows.mjs';
const PIN = `uses: actions/checkout@${'0123456789'.repeat(4)} # v4.2.2`;
const GOOD = `on: push\npermissions:\n  contents: read\njobs:\n  a:\n    steps:\n      - ${PIN}\n      - run: npm ci\n`;

it('the workflow check refuses what OpenSSF Scorecard refuses', async () => {
  const cwd = makeTemporaryFolder();
  for (const folder of ['scripts', '.github/workflows']) {
    mkdirSync(join(cwd, folder), { recursive: true });
  }
  cpSync(join(ROOT, SCRIPT), join(cwd, SCRIPT));
  for (const file of ['SECURITY.md', 'LICENSE', 'package-lock.json', '.github/dependabot.yml']) {
    writeFileSync(join(cwd, file), '');
  }
  for (const [workflow, message] of [
    [GOOD, /^$/],
    [GOOD.replace(PIN, 'uses: actions/checkout@v4'), /pin to a full commit/],
    [GOOD.replace(' # v4.2.2', ''), /with its version as a comment/],
    [GOOD.replace('contents: read', 'contents: write'), /permissions/],
    [GOOD.replace('contents: read', 'contents: read\n  packages: write'), /permissions/],
    [GOOD.replace('on: push', 'on: pull_request_target'), /pull_request_target/],
    [GOOD.replace('npm ci', 'npm install'), /use npm ci/],
    [GOOD.replace('npm ci', 'echo ${{ github.event.issue.title }}'), /text of an event/],
    [GOOD.replace('npm ci', 'curl https://example.org | sh'), /runs what it downloads/],
  ] as const) {
    writeFileSync(join(cwd, '.github/workflows/ci.yml'), workflow);
    const { code, stderr } = await runProgram([process.execPath, SCRIPT], { cwd });
    expect(stderr).to.match(message);
    expect(code).to.equal(stderr === '' ? 0 : 1);
  }
  await removeTemporaryFolder(cwd);
});
