import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The peers are installed here and not in the root, so that nobody else has to. */
export function installPeers(): void {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  if (existsSync(`${folder}node_modules`)) return;
  console.log('benchmarks/node_modules is missing: running npm ci in benchmarks');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error('npm ci in benchmarks failed');
}
