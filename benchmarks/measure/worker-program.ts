import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const source = fileURLToPath(new URL('../workers/worker.ts', import.meta.url));
// Inside this folder, where the peers are found.
const output = fileURLToPath(new URL('../dist/', import.meta.url));

/** What a worker process runs, once it is built. */
export const workerProgram: string = `${output}worker.js`;

/**
 * Workers are plain JavaScript, as a user's program is: run from its TypeScript by tsx, which names each
 * function anew whenever it is made, redsem took twice the CPU time for a pair.
 */
export async function buildWorkerProgram(): Promise<void> {
  rmSync(output, { recursive: true, force: true });
  await build({
    entryPoints: [source],
    outdir: output,
    bundle: true,
    splitting: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  });
}
