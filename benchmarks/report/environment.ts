import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

import type { TestServer } from '../../test/support/redis-server.js';

const installed = ['redis', 'ioredis', 'redis-semaphore', 'redlock', 'bottleneck'];

/**
 * The machine and the programs that the numbers come from. A load average, the number of runnable
 * processes in the minute before, well above 0 means that the machine was not quiet.
 */
export async function describeEnvironment(server: TestServer): Promise<string> {
  const [load = 0] = loadavg();
  return [
    `${availableParallelism()} cores (${process.platform} ${process.arch})`,
    `Node.js ${process.versions.node}`,
    `redis-server ${await server.stat('server', 'redis_version')}`,
    `redsem ${versionIn('../../package.json')}`,
    ...installed.map((name) => `${name} ${versionIn(`../node_modules/${name}/package.json`)}`),
    `load average before the run ${Number(load.toFixed(2))}`,
  ].join(', ');
}

function versionIn(path: string): string {
  const file = new URL(path, import.meta.url);
  if (!existsSync(file)) return 'unknown';
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version).replace(/^v/, '') : 'unknown';
}
