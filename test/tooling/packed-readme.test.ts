import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeTemporaryFolder, removeTemporaryFolder } from '../support/temporary-folder.js';
import { ROOT, runNode } from './run-program.js';

it('the packed README has links and pictures of the repository that a release fills in, and loses them again', async () => {
  const cwd = makeTemporaryFolder();
  mkdirSync(join(cwd, 'scripts'));
  const scripts = ['scripts/repository.mjs', 'scripts/packed-readme.mjs'] as const;
  for (const file of ['README.md', 'package.json', ...scripts])
    cpSync(join(ROOT, file), join(cwd, file));
  const read = (file: string): string => readFileSync(join(cwd, file), 'utf8');
  const [before, manifest] = [read('README.md'), JSON.parse(read('package.json')) as object];

  await runNode([scripts[1]], cwd);
  expect(read('README.md'), 'without a repository').to.equal(before);
  for (const where of ['old/place', 'owner/name']) await runNode([scripts[0], where], cwd);
  expect(JSON.parse(read('package.json'))).to.deep.equal({
    ...manifest,
    repository: { type: 'git', url: 'git+https://github.com/owner/name.git' },
    homepage: 'https://github.com/owner/name#readme',
    bugs: 'https://github.com/owner/name/issues',
  });

  await runNode([scripts[1]], cwd);
  const complete = read('README.md');
  const targets = [...complete.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  expect(targets.filter((target) => !/^(https:\/\/|#)/.test(target))).to.deep.equal([]);
  const own = /^https:\/\/(?:github\.com\/owner\/name\/blob|raw\.\w+\.com\/owner\/name)\/v[\d.]+\//;
  const paths = targets.filter((target) => own.test(target));
  expect(paths).to.have.length.above(50);
  const missing = paths.filter(
    (target) => !existsSync(join(ROOT, target.replace(own, '').replace(/#.*/, ''))),
  );
  expect(missing).to.deep.equal([]);
  expect(complete).to.match(/!\[[^\]]*\]\(https:\/\/raw\.githubusercontent\.com\/owner\/name\//);

  await runNode([scripts[1], '--undo'], cwd);
  expect(read('README.md')).to.equal(before);
  await removeTemporaryFolder(cwd);
});
