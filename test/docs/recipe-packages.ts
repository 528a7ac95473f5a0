import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, runOrThrow } from '../package/run-program.js';

/** Has a package.json of its own, so that nobody needs the frameworks who does not run the recipes. */
const FOLDER = join(ROOT, 'docs/guides');

export const RECIPE_MODULES: string = join(FOLDER, 'node_modules');

/** Installs the frameworks, where those of the lock file are not there yet. */
export async function installRecipePackages(): Promise<void> {
  const changed = (path: string): Promise<number> =>
    stat(join(FOLDER, path)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
  // npm writes the inner one when it has installed everything.
  const installed = await changed('node_modules/.package-lock.json');
  if (installed > (await changed('package-lock.json'))) return;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
  await runOrThrow('npm', ['ci', ...flags], FOLDER);
}
