import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';

import { makeTemporaryFolder } from '../../test/support/temporary-folder.js';

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url));

const SCRIPTS = 'src/backends/redis/written-by-npm-run-lua.ts';

/** A copy of the tree in JavaScript, to be changed at will. The tree itself is never touched. */
export class ScratchTree {
  readonly root: string = makeTemporaryFolder();

  constructor() {
    for (const folder of ['src', 'test', 'scripts', 'verification', 'examples']) {
      cpSync(join(ROOT, folder), join(this.root, folder), { recursive: true, force: true });
    }
    cpSync(join(ROOT, 'package.json'), join(this.root, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'), 'dir');
    for (const folder of ['src', 'test', 'verification', 'examples']) {
      for (const file of filesBelow(join(this.root, folder))) {
        if (file.endsWith('.ts'))
          this.writeTypeScript(join(folder, file), this.read(join(folder, file)));
      }
    }
  }

  read(file: string): string {
    return readFileSync(join(this.root, file), 'utf8');
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true });
    writeFileSync(join(this.root, file), text);
  }

  /** Puts the JavaScript of `text` beside the source. */
  writeTypeScript(file: string, text: string): void {
    const { code } = transformSync(text, { loader: 'ts', format: 'esm', target: 'node20' });
    this.write(file.replace(/\.ts$/, '.js'), code);
  }

  /** Embeds the Lua files as they now are. */
  embedLua(): void {
    execFileSync(process.execPath, [join(this.root, 'scripts/embed-lua.mjs')], { stdio: 'pipe' });
    this.writeTypeScript(SCRIPTS, this.read(SCRIPTS));
  }
}

export function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return entries.map((entry) => entry.replaceAll('\\', '/')).toSorted();
}
