import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { build, type Plugin } from 'esbuild';

import type { Build } from '../peers/catalog.js';
import { withoutTelemetry } from './without-telemetry.js';

const source = fileURLToPath(new URL('../workers/worker.ts', import.meta.url));
const thread = fileURLToPath(new URL('../../src/keeper/worker.ts', import.meta.url));
// Inside this folder, where the peers are found.
const output = fileURLToPath(new URL('../dist/', import.meta.url));

/** The file of a keeper's thread is beside the program, and has the same name. */
const threadApart: Plugin = {
  name: 'thread-apart',
  setup: (plugin) => {
    plugin.onLoad({ filter: /\/keeper\/keeper\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace('./worker.js', './keeper-thread.js'),
      loader: 'ts',
    }));
  },
};

const plugins: Record<Build, Plugin[]> = {
  whole: [threadApart],
  'without-telemetry': [threadApart, withoutTelemetry],
};

/** The program of a worker process, after it is built. */
export function workerProgram(name: Build): string {
  return `${output}${name}/worker.js`;
}

/**
 * Workers are plain JavaScript, as a user's program is. tsx names each function again whenever it
 * is made, so under tsx redsem took twice the CPU time for a pair.
 */
export async function buildWorkerPrograms(): Promise<void> {
  rmSync(output, { recursive: true, force: true });
  for (const [name, added] of Object.entries(plugins)) {
    await build({
      entryPoints: { worker: source, 'keeper-thread': thread },
      outdir: `${output}${name}`,
      bundle: true,
      splitting: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      target: 'node20',
      logLevel: 'warning',
      plugins: added,
    });
  }
}
