import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { ROOT, runOrThrow } from './run-program.js';

interface LockFile {
  readonly packages: Record<string, { readonly resolved?: string }>;
}

// Files about to be added count too: once they are in the history it is too late.
async function trackedFiles(): Promise<string[]> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await runOrThrow('git', list);
  return stdout.split('\0').filter((path) => path !== '');
}

// A home folder of any user, and where this very checkout stands. Put together at run time, so
// that this file does not find itself.
function machinePaths(): string[] {
  const homes = ['home', 'Users', 'root', 'work'].map((folder) => `/${folder}/`);
  homes.push(['C:', 'Users', ''].join('\\'));
  const own = [`${homedir()}/`, `${resolve(ROOT)}/`].filter((path) => path !== '//');
  return [...new Set([...homes, ...own])];
}

function linesWith(text: string, needle: string): number[] {
  return text.split('\n').flatMap((line, index) => {
    const before = line.split(needle).slice(0, -1);
    // In the middle of a longer path or a URL it is not a path of a machine.
    return before.some((part) => !/[\w.~-]$/.test(part)) ? [index + 1] : [];
  });
}

describe('tracked files', () => {
  let files: string[];

  before(async function () {
    try {
      files = await trackedFiles();
    } catch {
      this.skip(); // a copy without git's data, as in a source archive
    }
  });

  it('name no registry host in a lockfile', async () => {
    const locks = files.filter((path) => /(^|\/)package-lock\.json$/.test(path));
    expect(locks).to.include.members(['package-lock.json', 'docs/guides/package-lock.json']);
    const hosts: string[] = [];
    for (const file of locks) {
      const { packages } = JSON.parse(await readFile(join(ROOT, file), 'utf8')) as LockFile;
      for (const [path, { resolved = '' }] of Object.entries(packages)) {
        if (/^[\w+]+:\/\//.test(resolved)) hosts.push(`${file}: ${path}`);
      }
    }
    expect(hosts).to.deep.equal([]);
  });

  it('set no registry in an .npmrc', async () => {
    for (const file of files.filter((path) => /(^|\/)\.npmrc$/.test(path))) {
      expect(await readFile(join(ROOT, file), 'utf8'), file).to.not.match(
        /registry\s*=|\/\/.*_auth/,
      );
    }
  });

  it('hold no path of a machine', async () => {
    const found: string[] = [];
    for (const file of files) {
      const text = await readFile(join(ROOT, file), 'utf8').catch(() => '');
      for (const path of machinePaths()) {
        found.push(...linesWith(text, path).map((line) => `${file}:${line} has ${path}`));
      }
    }
    expect(found).to.deep.equal([]);
  });
});
