// Builds the site in site/html: the pages of docs and the API reference. A warning is an error, and
// so is a broken link.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../site/', import.meta.url));

function run(program, args) {
  const shell = process.platform === 'win32';
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit', shell });
  if (status !== 0) process.exit(status ?? 1);
}

// typedoc needs an older TypeScript than the package is built with, so it is installed there and
// not in the root.
if (!existsSync(`${folder}node_modules`)) run('npm', ['ci', '--no-audit', '--no-fund']);
rmSync(`${folder}html`, { recursive: true, force: true });
const options = ['--options', 'typedoc.mjs', ...process.argv.slice(2)];
run(process.execPath, ['node_modules/typedoc/bin/typedoc', ...options]);
run(process.execPath, ['../scripts/check-site.mjs']);
