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
  const none = { repository: undefined, homepage: undefined, bugs: undefined };
  const wrong = { version: '1.2.4', repository: { type: 'git', url: 'owner/name' } };
  for (const [changelog, changed, ...problems] of [
    [ENTRY, {}],
    [
      ENTRY,
      wrong,
      /the tag is v1\.2\.3, package\.json says 1\.2\.4/,
      /src\/otel\/version\.ts says 1\.2\.3, package\.json says 1\.2\.4/,
      /no entry for 1\.2\.4/,
      /git\+https:\/\/github\.com\/OWNER\/NAME\.git/,
    ],
    [
      ENTRY.replace('- It works.', ''),
      none,
      /lists no change under 1\.2\.3/,
      /has no "repository": run node scripts\/repository\.mjs OWNER\/NAME/,
      /has no "homepage"/,
      /has no "bugs"/,
    ],
  ] as const) {
    writeFileSync(join(cwd, 'CHANGELOG.md'), changelog);
    writeFileSync(join(cwd, 'src/otel/version.ts'), "export const VERSION = '1.2.3';\n");
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ...manifest, ...changed }));
    const { code, stderr } = await runProgram([process.execPath, script, 'v1.2.3'], { cwd });
    expect(code).to.equal(problems.length === 0 ? 0 : 1);
    const said = stderr.split('\n').slice(0, -1);
    expect(said, stderr).to.have.length(problems.length);
    problems.forEach((problem, i) => expect(said[i]).to.match(problem));
  }
  const { code } = await runProgram([process.execPath, script], { cwd });
  expect(code, 'without a tag').to.equal(1);
  await removeTemporaryFolder(cwd);
});
