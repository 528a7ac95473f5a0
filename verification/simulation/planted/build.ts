import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build as bundle, type Plugin } from 'esbuild';

import type { PlantedBug } from './bugs.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * The simulator with the sources as they are, or with one bug in them, as one file that Node runs.
 */
export async function buildSimulator(file: string, bug: PlantedBug | undefined): Promise<void> {
  if (bug !== undefined) await checkPlace(bug);
  await bundle({
    entryPoints: [join(ROOT, 'verification/simulation/main.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    // Packages that are CommonJS require modules of Node.
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`,
    },
    plugins: bug === undefined ? [] : [planting(bug)],
  });
}

function planting({ file, find, replace = '' }: PlantedBug): Plugin {
  const path = join(ROOT, 'src', file);
  return {
    name: 'plant',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, async (args) => {
        if (args.path !== path) return undefined;
        const source = await readFile(path, 'utf8');
        return { contents: source.replace(find, () => replace), loader: 'ts' };
      });
    },
  };
}

/** @throws {Error} unless the file has the text exactly once, as when the sources have changed */
export async function checkPlace({ name, file, find }: PlantedBug): Promise<void> {
  const source = await readFile(join(ROOT, 'src', file), 'utf8').catch(() => undefined);
  if (source === undefined) throw new Error(`planted bug ${name}: src has no ${file}`);
  const count = source.split(find).length - 1;
  if (count === 1) return;
  throw new Error(`planted bug ${name}: src/${file} has ${count} times, not once: ${find}`);
}
