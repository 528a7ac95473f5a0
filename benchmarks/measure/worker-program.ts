import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build, type Plugin } from 'esbuild';

import type { Build } from '../peers/catalog.js';
import { withoutTelemetry } from './without-telemetry.js';

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const source = pathOf('../workers/worker.ts');
const thread = pathOf('../../src/keeper/worker.ts');
const commandLine = pathOf('../../src/cli/main.ts');
// Inside this folder, where the peers are found.
const output = pathOf('../dist/');

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

/** A program in one format, whose packages are found where it runs. */
const bundled = {
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
} as const;

/** The command line in one file, as in the package; gives its path. */
export async function buildCommand(): Promise<string> {
  const outfile = `${output}command/cli/main.js`;
  // It reads its options from the documents.
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(commandLine).href) };
  const whole = { outfile, minify: true, keepNames: true, define };
  await build({ ...bundled, ...whole, entryPoints: [commandLine] });
  return outfile;
}

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
      splitting: true,
      plugins: added,
      ...bundled,
    });
  }
}
