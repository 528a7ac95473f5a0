// npm run bench                every question (about 20 minutes), writes results/ and README.md
// npm run bench -- NAME...     only these
// npm run bench -- --quick     a smoke test in less than a minute, writes nothing
// npm run bench -- --redraw    charts and README from the committed results, runs nothing
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// The peers are installed here and not in the root, so that only a benchmark needs them.
const cwd = fileURLToPath(new URL('.', import.meta.url));
if (!existsSync(`${cwd}node_modules`)) {
  console.log('benchmarks/node_modules is missing: running npm ci in benchmarks');
  const shell = process.platform === 'win32';
  const command = ['ci', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', command, { cwd, stdio: 'inherit', shell });
  if (status !== 0) throw new Error('npm ci in benchmarks failed');
}
// Imported only now, because its imports may have been missing.
const { runFromCommandLine } = await import('./command-line.js');
process.exitCode = await runFromCommandLine(process.argv.slice(2));
