// Makes dist/**/*.cjs. Jest without options and Node.js before 22.12 need it: their require() loads
// no ES module. Any other Node.js gets the ES modules for import and require() alike (condition
// module-sync), so that no process has both. Names are kept because errors show them.
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ENTRIES = ['index', 'backend', 'otel/index', 'web/index', 'web/node'];
const root = fileURLToPath(new URL('..', import.meta.url));

await build({
  absWorkingDir: root,
  entryPoints: ENTRIES.map((entry) => `dist/${entry}.js`),
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  packages: 'external',
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
});
for (const entry of ENTRIES) {
  // TypeScript of module node16 thinks that require() takes no ES modules.
  writeFileSync(
    `${root}/dist/${entry}.d.cts`,
    `// @ts-ignore\nexport * from './${basename(entry)}.js';\n`,
  );
}
