import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runProgram } from './run-program.js';

const ENTRY =
  '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n\n- It works.\n\n## [1.2.2]\n';

it('the release check needs a changelog entry, one version everywhere, and the address of the repository', async () => {
  const cwd = makeTemporaryFolder();
  for (const folder of ['scripts', 'src/otel']) mkdirSync(join(cwd, folder), { recursive: true });
  const script = 'scripts/check-release.mjs';
  cpSync(join(ROOT, script), join(cwd, script));
  const manifest = {
    version: '1.2.3',
    homepage: 'https://example.org',
    bugs: 'https://example.org/issues',
    repository: { type: 'git', url: 'git+https://github.com/owner/name.git' },
  };
  const repository = { type: 'git', url: 'owner/name' };
  for (const [changelog, built, changed, message] of [
    [ENTRY, '1.2.3', {}, undefined],
    [ENTRY, '1.2.3', { version: '1.2.4' }, /the tag is v1\.2\.3/],
    ['# Changelog\n\n## [Unreleased]\n\n- Something.\n', '1.2.3', {}, /no entry for 1\.2\.3/],
    [ENTRY.replace('- It works.', ''), '1.2.3', {}, /lists no change under 1\.2\.3/],
    [ENTRY, '1.2.2', {}, /src\/otel\/version\.ts says 1\.2\.2, package\.json says 1\.2\.3/],
    [ENTRY, '1.2.3', { repository }, /git\+https:\/\/github\.com\/OWNER\/NAME\.git/],
    ...['repository', 'homepage', 'bugs'].map((field) => {
      const missing = new RegExp(
        `package.json has no "${field}": run node scripts/repository.mjs OWNER/NAME`,
      );
      return [ENTRY, '1.2.3', { [field]: undefined }, missing] as const;
    }),
  ] as const) {
    writeFileSync(join(cwd, 'CHANGELOG.md'), changelog);
    writeFileSync(join(cwd, 'src/otel/version.ts'), `export const VERSION = '${built}';\n`);
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ...manifest, ...changed }));
    for (const tag of message === undefined ? [[], ['v1.2.3']] : [['v1.2.3']]) {
      const { code, stderr } = await runProgram([process.execPath, script, ...tag], { cwd });
      expect(code).to.equal(message === undefined ? 0 : 1);
      expect(stderr).to.match(message ?? /^$/);
    }
  }
  await removeTemporaryFolder(cwd);
});
