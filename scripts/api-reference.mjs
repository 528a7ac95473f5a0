// Makes the API reference in docs/api/html from the docstrings of src; a warning is an error.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../docs/api/', import.meta.url));

function run(program, args) {
  const shell = process.platform === 'win32';
  const { status } = spawnSync(program, args, { cwd: folder, stdio: 'inherit', shell });
  if (status !== 0) process.exit(status ?? 1);
}

// typedoc needs an older TypeScript than the package is built with, so it is installed there and not in the root.
if (!existsSync(`${folder}node_modules`)) run('npm', ['ci', '--no-audit', '--no-fund']);
run(process.execPath, ['node_modules/typedoc/bin/typedoc', '--options', 'typedoc.json']);
