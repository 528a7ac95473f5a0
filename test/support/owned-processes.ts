import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { constants } from 'node:os';

const owned = new Set<ChildProcess>();
let watching = false;
let deathSignal: readonly string[] | undefined;

/** Starts a child that never outlives this process, however this process ends. */
export function spawnOwned(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  watchOwnEnd();
  const [file = command, ...rest] = [...deathSignalPrefix(), command, ...args];
  const child = spawn(file, rest, options);
  owned.add(child);
  child.once('exit', () => owned.delete(child));
  // A listener must stand here, or a spawn that fails would end the whole test run.
  child.on('error', () => {
    if (child.pid === undefined) owned.delete(child);
  });
  return child;
}

/** Kills every child that still runs. SIGKILL also ends a stopped process. */
export function killOwned(): void {
  for (const child of owned) child.kill('SIGKILL');
}

export function hasExited(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

export function untilExit(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
  });
}

function watchOwnEnd(): void {
  if (watching) return;
  watching = true;
  process.on('exit', killOwned);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      killOwned();
      process.exit(128 + constants.signals[signal]);
    });
  }
}

/**
 * No handler of ours runs when this process is killed with SIGKILL, so on Linux the kernel is asked to kill
 * the child then. `setpriv` replaces itself by the command: the pid stays the command's own.
 */
function deathSignalPrefix(): readonly string[] {
  if (deathSignal !== undefined) return deathSignal;
  const args = ['--pdeathsig', 'KILL', '--'];
  const works =
    process.platform === 'linux' && spawnSync('setpriv', [...args, 'true']).status === 0;
  deathSignal = works ? ['setpriv', ...args] : [];
  return deathSignal;
}
