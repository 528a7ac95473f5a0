import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runNode, runProgram } from './run-program.js';

const ENTRY = '## [1.2.3] - 2026-01-01\n\n- It works.\n';
const [REPOSITORY, README, CHECK] = ['repository', 'packed-readme', 'check-release'].map(
  (name) => `scripts/${name}.mjs`,
) as [string, string, string];

describe('a release', () => {
  let cwd: string;

  beforeEach(() => {
    cwd = makeTemporaryFolder();
    for (const folder of ['scripts', 'src/otel']) mkdirSync(join(cwd, folder), { recursive: true });
    for (const file of ['README.md', 'package.json', REPOSITORY, README, CHECK])
      cpSync(join(ROOT, file), join(cwd, file));
  });

  const read = (file: string): string => readFileSync(join(cwd, file), 'utf8');
  const write = (file: string, text: string): void => writeFileSync(join(cwd, file), text);

  it('needs a changelog entry, one version everywhere, and the address of the repository', async () => {
    const unnamed = { ...(JSON.parse(read('package.json')) as object), version: '1.2.3' };
    write('package.json', JSON.stringify(unnamed));
    await runNode([REPOSITORY, 'owner/name'], cwd);
    const named = JSON.parse(read('package.json')) as object;
    const wrong = { ...named, version: '1.2.4', repository: { type: 'git', url: 'owner/name' } };
    write('src/otel/version.ts', "export const VERSION = '1.2.3';\n");
    for (const [entry, manifest, ...problems] of [
      [ENTRY, named],
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
        unnamed,
        /lists no change under 1\.2\.3/,
        /has no "repository": run node scripts\/repository\.mjs OWNER\/NAME/,
        /has no "homepage"/,
        /has no "bugs"/,
      ],
    ] as const) {
      write('CHANGELOG.md', `# Changelog\n\n## [Unreleased]\n\n${entry}\n## [1.2.2]\n`);
      write('package.json', JSON.stringify(manifest));
      const { code, stderr } = await runProgram([process.execPath, CHECK, 'v1.2.3'], { cwd });
      expect(code).to.equal(problems.length === 0 ? 0 : 1);
      const said = stderr.split('\n').slice(0, -1);
      expect(said, stderr).to.have.length(problems.length);
      problems.forEach((problem, i) => expect(said[i]).to.match(problem));
    }
    const { code } = await runProgram([process.execPath, CHECK], { cwd });
    expect(code, 'without a tag').to.equal(1);
  });

  it('packs a README with links and pictures of the repository, and takes them out again', async () => {
    const [before, manifest] = [read('README.md'), JSON.parse(read('package.json')) as object];
    await runNode([README], cwd);
    expect(read('README.md'), 'without a repository').to.equal(before);
    for (const where of ['old/place', 'owner/name']) await runNode([REPOSITORY, where], cwd);
    expect(JSON.parse(read('package.json'))).to.deep.equal({
      ...manifest,
      repository: { type: 'git', url: 'git+https://github.com/owner/name.git' },
      homepage: 'https://github.com/owner/name#readme',
      bugs: 'https://github.com/owner/name/issues',
    });
    await runNode([README], cwd);
    const complete = read('README.md');
    const targets = [...complete.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !/^(https:\/\/|#)/.test(target))).to.deep.equal([]);
    const own =
      /^https:\/\/(?:github\.com\/owner\/name\/blob|raw\.\w+\.com\/owner\/name)\/v[\d.]+\//;
    const paths = targets.filter((target) => own.test(target));
    expect(paths).to.have.length.above(50);
    const files = paths.map((path) => path.replace(own, '').replace(/#.*/, ''));
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).to.deep.equal([]);
    expect(complete).to.match(/!\[[^\]]*\]\(https:\/\/raw\.githubusercontent\.com\/owner\/name\//);
    await runNode([README, '--undo'], cwd);
    expect(read('README.md')).to.equal(before);
  });
});
