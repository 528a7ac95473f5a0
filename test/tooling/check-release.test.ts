import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runProgram } from './run-program.js';

const ENTRY =
  '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n\n- It works.\n\n## [1.2.2]\n';

it('the release check wants an entry in the changelog, and one version in tag, package and build', async () => {
  const cwd = makeTemporaryFolder();
  for (const folder of ['scripts', 'src']) mkdirSync(join(cwd, folder));
  const script = 'scripts/check-release.mjs';
  cpSync(join(ROOT, script), join(cwd, script));
  writeFileSync(join(cwd, 'package.json'), '{ "version": "1.2.3" }');
  for (const [changelog, built, tag, message] of [
    [ENTRY, '1.2.3', [], undefined],
    [ENTRY, '1.2.3', ['v1.2.3'], undefined],
    [ENTRY, '1.2.3', ['v1.2.4'], /the tag is v1\.2\.4/],
    ['# Changelog\n\n## [Unreleased]\n\n- Something.\n', '1.2.3', [], /no entry for 1\.2\.3/],
    [ENTRY.replace('- It works.', ''), '1.2.3', [], /lists no change under 1\.2\.3/],
    [ENTRY, '1.2.2', [], /src\/version\.ts says 1\.2\.2, package\.json says 1\.2\.3/],
  ] as const) {
    writeFileSync(join(cwd, 'CHANGELOG.md'), changelog);
    writeFileSync(join(cwd, 'src/version.ts'), `export const VERSION = '${built}';\n`);
    const { code, stderr } = await runProgram([process.execPath, script, ...tag], { cwd });
    expect(code).to.equal(message === undefined ? 0 : 1);
    expect(stderr).to.match(message ?? /^$/);
  }
  await removeTemporaryFolder(cwd);
});
