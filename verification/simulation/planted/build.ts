import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, type Plugin } from 'esbuild';

import type { PlantedBug } from './bug.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The hunt with the sources as they are, or with one bug in them, as one file that Node runs. */
export async function buildHunt(file: string, bug: PlantedBug | undefined): Promise<void> {
  await build({
    entryPoints: [join(ROOT, 'verification/simulation/planted/hunt.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    // What is CommonJS among the packages may require modules of Node.
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`,
    },
    plugins: bug === undefined ? [] : [planting(bug)],
  });
}

function planting(bug: PlantedBug): Plugin {
  const path = join(ROOT, 'src', bug.file);
  return {
    name: 'plant',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async (args) => {
        if (args.path !== path) return undefined;
        return { contents: plant(await readFile(path, 'utf8'), bug), loader: 'ts' };
      });
    },
  };
}

/** @throws {Error} when the place is not there, or twice: the sources have changed, and the bug must be planted elsewhere */
export function plant(source: string, { name, file, find, replace }: PlantedBug): string {
  const places = source.split(find).length - 1;
  if (places !== 1) {
    throw new Error(
      `planted bug ${name}: expected src/${file} to have once, not ${places} times: ${find}`,
    );
  }
  return source.replace(find, () => replace);
}
