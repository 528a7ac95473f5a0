import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

import type { TestServer } from '../../test/support/redis-server.js';

/** The machine and the programs that the numbers come from. */
export interface Environment {
  readonly cores: number;
  readonly platform: string;
  readonly node: string;
  readonly redisServer: string;
  /** Runnable processes in the minute before: well above 0 means that the machine was not quiet. */
  readonly loadBefore: number;
  readonly packages: Readonly<Record<string, string>>;
}

const installed = ['redis', 'ioredis', 'redis-semaphore', 'redlock', 'bottleneck'];

export async function describeEnvironment(server: TestServer): Promise<Environment> {
  const [load = 0] = loadavg();
  return {
    cores: availableParallelism(),
    platform: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    redisServer: await server.stat('server', 'redis_version'),
    loadBefore: Number(load.toFixed(2)),
    packages: {
      redsem: versionIn('../../package.json'),
      ...Object.fromEntries(
        installed.map((name) => [name, versionIn(`../node_modules/${name}/package.json`)]),
      ),
    },
  };
}

export function environmentText(environment: Environment): string {
  const { cores, platform, node, redisServer, loadBefore, packages } = environment;
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return [
    `${cores} cores (${platform})`,
    `Node.js ${node}`,
    `redis-server ${redisServer}`,
    ...versions,
    `load average before the run ${loadBefore}`,
  ].join(', ');
}

function versionIn(path: string): string {
  const file = new URL(path, import.meta.url);
  if (!existsSync(file)) return 'unknown';
  const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version).replace(/^v/, '') : 'unknown';
}
