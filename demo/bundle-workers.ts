import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export const CLIENTS = ['redis', 'ioredis'] as const;
export type ClientName = (typeof CLIENTS)[number];

/**
 * Makes one plain JavaScript file per client. Twenty processes that each compile TypeScript take
 * some 5 s to start on two cores; twenty that load one file take 1 s.
 */
export function bundleWorkers(folder: string): Record<ClientName, string> {
  const source = (client: ClientName): string =>
    fileURLToPath(new URL(`${client}-worker.ts`, import.meta.url));
  buildSync({
    entryPoints: Object.fromEntries(CLIENTS.map((client) => [client, source(client)])),
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'error',
  });
  return { redis: join(folder, 'redis.cjs'), ioredis: join(folder, 'ioredis.cjs') };
}
