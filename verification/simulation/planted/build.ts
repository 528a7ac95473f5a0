import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build as bundle, type Plugin } from 'esbuild';

import type { Place, PlantedBug } from './bug.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The hunt with the sources as they are, or with one bug in them, as one file that Node runs. */
export async function buildHunt(file: string, bug: PlantedBug | undefined): Promise<void> {
  await bundle({
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
    plugins: bug === undefined ? [] : [planting(await placeOf(bug))],
  });
}

function planting({ file, find, replace }: Place): Plugin {
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

/** @throws {Error} when there is none, or it is there twice: the sources have changed, and the bug must be planted elsewhere */
export async function placeOf({ name, places }: PlantedBug): Promise<Place> {
  const tried = await Promise.all(
    places.map(async (place) => {
      const source = await readFile(join(ROOT, 'src', place.file), 'utf8').catch(() => '');
      return { place, count: source.split(place.find).length - 1 };
    }),
  );
  const found = tried.find(({ count }) => count === 1);
  if (found !== undefined) return found.place;
  const wanted = tried.map(
    ({ place, count }) => `src/${place.file} (${count} times): ${place.find}`,
  );
  throw new Error(`planted bug ${name}: expected once, and found not so: ${wanted.join('; ')}`);
}
