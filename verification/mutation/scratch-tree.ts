import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';

import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url));

const SCRIPTS = 'src/backends/redis/written-by-npm-run-lua.ts';

/** A copy of the repository in JavaScript, to be changed at will. */
export class ScratchTree {
  readonly root: string = makeTemporaryFolder();

  constructor() {
    cpSync(join(ROOT, 'package.json'), join(this.root, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'), 'dir');
    for (const folder of ['src', 'test', 'scripts', 'verification', 'examples', 'docs']) {
      const filter = (path: string): boolean => !path.includes('node_modules', ROOT.length);
      cpSync(join(ROOT, folder), join(this.root, folder), { recursive: true, filter });
      for (const file of filesBelow(folder)) if (file.endsWith('.ts')) this.compile(file);
    }
  }

  /** Writes a source file, and the JavaScript beside it or the embedded scripts. */
  write(file: string, text: string): void {
    writeFileSync(join(this.root, file), text);
    if (file.endsWith('.ts')) return this.compile(file);
    execFileSync(process.execPath, [join(this.root, 'scripts/embed-lua.mjs')], { stdio: 'pipe' });
    this.compile(SCRIPTS);
  }

  compile(file: string): void {
    const path = join(this.root, file);
    writeFileSync(path.replace(/\.ts$/, '.js'), compiled(readFileSync(path, 'utf8')));
  }
}

export function compiled(text: string): string {
  return transformSync(text, { loader: 'ts', format: 'esm', target: 'node20' }).code;
}

/** Paths from the root of the repository, but for packages. */
export function filesBelow(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const files = entries.filter((entry) => !entry.includes('node_modules'));
  return files.map((entry) => `${folder}/${entry.replaceAll('\\', '/')}`).toSorted();
}
