// Makes dist/**/*.cjs. Jest without options and Node.js before 22.12 need it: their require() loads
// no ES module. Any other Node.js gets the ES modules for import and require() alike (condition
// module-sync), so that no process has both. The library and the web view are one
// bundle, so that they share their modules. Names are kept because errors show them.
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const TOGETHER = ['index', 'keeper/index', 'web/index'];
const ALONE = ['backend', 'otel/index', 'web/node'];
const root = fileURLToPath(new URL('..', import.meta.url));

/** The page is one file for import and require(). */
const pageApart = {
  name: 'page-apart',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/assets\.cjs$/ }, () => ({
      path: './web/page/assets.cjs',
      external: true,
    }));
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  minifyWhitespace: true,
  minifySyntax: true,
  // Else a class is `_Semaphore` or `Semaphore2` where its name is used inside, or twice.
  keepNames: true,
  plugins: [pageApart],
  logLevel: 'warning',
};
const parts = TOGETHER.map((entry, i) => `export * as part${i} from './dist/${entry}.js';`);
await build({
  ...common,
  stdin: { contents: parts.join('\n'), resolveDir: root },
  outfile: 'dist/all.cjs',
  // The first file of a keeper's thread is an ES module beside it.
  define: { 'import.meta.url': 'keeperUrl' },
  banner: {
    js: "const keeperUrl = require('node:url').pathToFileURL(`${__dirname}/keeper/keeper.js`).href;",
  },
});
await build({
  ...common,
  entryPoints: ALONE.map((entry) => `dist/${entry}.js`),
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
});
for (const [i, entry] of TOGETHER.entries()) {
  const all = entry.includes('/') ? '../all.cjs' : './all.cjs';
  writeFileSync(`${root}/dist/${entry}.cjs`, `module.exports = require('${all}').part${i};\n`);
}
for (const entry of [...TOGETHER, ...ALONE]) {
  // TypeScript of module node16 thinks that require() takes no ES modules.
  writeFileSync(
    `${root}/dist/${entry}.d.cts`,
    `// @ts-ignore\nexport * from './${basename(entry)}.js';\n`,
  );
}
