// Makes one file of the compiled command line and the parts of the library that it uses: Node.js
// takes as long to read a hundred files as for the rest of a short `redsem run`. Argument: the
// output folder of the compiler.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = join(process.argv[2] ?? 'dist', 'cli');
const program = join(folder, 'main.js');

/** Only one command needs the page and its server. */
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

/** The page declares the options: no tool that drops documents from node_modules may take it. */
const pageWithin = {
  name: 'page-within',
  setup: ({ onLoad }) => {
    const page = readFileSync(new URL('../docs/reference/cli.md', import.meta.url), 'utf8');
    onLoad({ filter: /\/cli\/page\.js$/ }, () => ({
      contents: `export const commandLinePage = ${JSON.stringify(page)};`,
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
  // The names of errors are the names of their classes.
  keepNames: true,
  plugins: [scriptsApart, viewApart, pageWithin],
  write: false,
  logLevel: 'error',
});
rmSync(folder, { recursive: true });
mkdirSync(folder);
for (const { contents } of outputFiles) writeFileSync(program, contents);
