import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, runProgram } from '../../test/tooling/run-program.js';

/**
 * Where the packages of a folder are that has its own package.json, so that the root's install
 * stays small.
 */
export function modulesOf(folder: string): string {
  return join(ROOT, folder, 'node_modules');
}

/** Loads the packages of such a folder; `Packages` has the parts that are used of each. */
export function packagesIn<Packages>(folder: string) {
  const { resolve } = createRequire(join(modulesOf(folder), 'here.js'));
  return async <Name extends keyof Packages & string>(name: Name): Promise<Packages[Name]> =>
    (await import(pathToFileURL(resolve(name)).href)) as Packages[Name];
}

/**
 * For a `before` hook. Where packages cannot be installed its tests are pending; in CI that is a
 * failure. `scripts`: those packages fetch their programs by install scripts.
 */
export async function needPackages(
  context: Mocha.Context,
  folder: string,
  { scripts = false } = {},
): Promise<void> {
  // npm writes this file when it has installed everything.
  const installed = await changed(join(modulesOf(folder), '.package-lock.json'));
  const lock = await changed(join(ROOT, folder, 'package-lock.json'));
  if (installed > (lock || (await changed(join(ROOT, folder, 'package.json'))))) return;
  const how = lock === 0 ? ['install', '--no-package-lock'] : ['ci'];
  const flags = [`--ignore-scripts=${String(!scripts)}`, '--no-audit', '--no-fund'];
  const command = ['npm', ...how, ...flags];
  const { code, stderr } = await runProgram(command, { cwd: join(ROOT, folder) });
  if (code === 0) return;
  if (process.env['CI'] === 'true') throw new Error(stderr);
  console.error(`Skipped, the packages of ${folder} cannot be installed: ${stderr}`);
  context.skip();
}

function changed(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
