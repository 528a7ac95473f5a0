// Makes one file of the compiled command line and what it needs of the library: reading a hundred
// files takes Node.js as much time as all else that a short `redsem run` does. Argument: the folder
// that was compiled to.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = join(process.argv[2] ?? 'dist', 'cli');
const program = join(folder, 'main.js');

/** A page and its server are for one command alone. */
const viewApart = {
  name: 'view-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/web\/(?:index|node)\.js$/ }, ({ path }) => ({
      path: `../web/${path.split('/').at(-1)}`,
      external: true,
    }));
  },
};

/** The Lua sources are a quarter of the size and one file already: not twice in the package. */
const scriptsApart = {
  name: 'scripts-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/written-by-npm-run-lua\.js$/ }, () => ({
      path: '../backends/redis/written-by-npm-run-lua.js',
      external: true,
    }));
  },
};

const { outputFiles } = await build({
  entryPoints: [program],
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'esm',
  minify: true,
  // Errors are called after their classes.
  keepNames: true,
  plugins: [scriptsApart, viewApart],
  write: false,
  logLevel: 'error',
});
rmSync(folder, { recursive: true });
mkdirSync(folder);
for (const { contents } of outputFiles) writeFileSync(program, contents);
