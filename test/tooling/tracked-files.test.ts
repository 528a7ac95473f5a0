import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { ROOT, runProgram } from './run-program.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

// A home folder of any user, and where this very checkout is. Put together at run time, so that
// this file does not find itself.
function machinePaths(): RegExp {
  const homes = ['home', 'Users', 'root', 'work'].map((folder) => `/${folder}/`);
  const own = [homedir(), resolve(ROOT)].filter((path) => path !== '/').map((path) => `${path}/`);
  const paths = [...homes, ['C:', 'Users', ''].join('\\'), ...own];
  const texts = paths.map((path) => path.replaceAll(/[^\w/]/g, String.raw`\$&`));
  // In the middle of a longer path or a URL it is not a path of a machine.
  return new RegExp(`(?<![\\w.~-])(?:${texts.join('|')})`);
}

describe('tracked files', () => {
  let files: string[];

  before(async function () {
    // Files about to be added count too: once they are in the history it is too late.
    const list = ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const { code, stdout } = await runProgram(list);
    // A copy without git's data, as in a source archive.
    if (code !== 0) this.skip();
    files = stdout.split('\0').filter((path) => path !== '' && existsSync(join(ROOT, path)));
  });

  it('name no registry', () => {
    const locks = files.filter((path) => /(^|\/)package-lock\.json$/.test(path));
    expect(locks).to.include.members(['package-lock.json', 'docs/guides/package-lock.json']);
    for (const file of locks) expect(read(file), file).not.to.match(/"resolved": "[\w+]+:\/\//);
    for (const file of files.filter((path) => /(^|\/)\.npmrc$/.test(path))) {
      expect(read(file), file).to.not.match(/registry\s*=|\/\/.*_auth/);
    }
  });

  it('hold no path of a machine', () => {
    const paths = machinePaths();
    const found = files.flatMap((file) => {
      const lines = read(file).split('\n');
      return lines.flatMap((line, i) => (paths.test(line) ? [`${file}:${i + 1}: ${line}`] : []));
    });
    expect(found).to.deep.equal([]);
  });
});
