import { mkdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT, runOrThrow } from '../../test/tooling/run-program.js';

/** Long enough for `npm ci` on a slow line; who waits for another to do it may need it twice. */
export const INSTALL_TIMEOUT = 120_000;

/** Where the packages of a folder are that has a package.json of its own, so that the root's install stays small. */
export function modulesOf(folder: string): string {
  return join(ROOT, folder, 'node_modules');
}

/** For a `before` hook. Where packages cannot be installed its tests are pending; in CI that is a failure. */
export async function needPackages(context: Mocha.Context, folder: string): Promise<void> {
  try {
    await alone(folder, () => install(folder));
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    console.error(`Skipped, the packages of ${folder} cannot be installed:`, error);
    context.skip();
  }
}

/** Another test file may need the same packages at the same time. A lock that somebody left who was killed is taken over. */
async function alone(folder: string, work: () => Promise<void>): Promise<void> {
  const lock = join(tmpdir(), `redsem-lock-${join(ROOT, folder).replaceAll(/\W+/g, '-')}`);
  while (!(await mkdir(lock).then(() => true, isTaken))) {
    if (Date.now() - (await changed(lock)) > INSTALL_TIMEOUT)
      await rm(lock, { recursive: true, force: true });
    await sleep(50);
  }
  try {
    await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

function isTaken(error: NodeJS.ErrnoException): false {
  if (error.code === 'EEXIST') return false;
  throw error;
}

async function install(folder: string): Promise<void> {
  // npm writes the inner one when it has installed everything.
  const installed = await changed(join(modulesOf(folder), '.package-lock.json'));
  if (installed > (await changed(join(ROOT, folder, 'package-lock.json')))) return;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
  await runOrThrow('npm', ['ci', ...flags], join(ROOT, folder));
}

function changed(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
