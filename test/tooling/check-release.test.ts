import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ROOT, runProgram } from './run-program.js';

describe('the release check', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'redsem-release-'));
    await mkdir(join(folder, 'scripts'));
    const script = 'scripts/check-release.mjs';
    await cp(join(ROOT, script), join(folder, script));
    await writeFile(join(folder, 'package.json'), '{ "version": "1.2.3" }');
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'src/version.ts'), "export const VERSION = '1.2.3';\n");
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  const check = async (changelog: string, ...args: string[]) => {
    await writeFile(join(folder, 'CHANGELOG.md'), changelog);
    return runProgram(process.execPath, ['scripts/check-release.mjs', ...args], folder);
  };

  const entry =
    '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n\n- It works.\n\n## [1.2.2]\n';

  it('lets a version pass that the changelog tells of', async () => {
    expect(await check(entry)).to.include({ exitCode: 0, stderr: '' });
    expect(await check(entry, 'v1.2.3')).to.include({ exitCode: 0 });
  });

  it('refuses one without an entry, with an empty one, or with another tag', async () => {
    const refusals: [string, string[], RegExp][] = [
      ['# Changelog\n\n## [Unreleased]\n\n- Something.\n', [], /no entry for 1\.2\.3/],
      [entry.replace('- It works.', ''), [], /lists no change under 1\.2\.3/],
      [entry, ['v1.2.4'], /the tag is v1\.2\.4/],
    ];
    for (const [changelog, args, message] of refusals) {
      const result = await check(changelog, ...args);
      expect(result).to.include({ exitCode: 1 });
      expect(result.stderr).to.match(message);
    }
  });

  it('refuses a build that has another version', async () => {
    await cp(join(ROOT, 'src/version.ts'), join(folder, 'src/version.ts'));
    const { exitCode, stderr } = await check(entry);
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/src\/version\.ts says \S+, package\.json says 1\.2\.3/);
  });
});
