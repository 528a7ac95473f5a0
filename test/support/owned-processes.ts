import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

const owned = new Set<ChildProcess>();
let deathSignal: readonly string[] | undefined;

/** Starts a child that never outlives this process, however this process ends. */
export function spawnOwned(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const [file = command, ...rest] = [...(deathSignal ??= prepareOwnEnd()), command, ...args];
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

export async function untilExit(child: ChildProcess): Promise<void> {
  if (!hasExited(child)) await once(child, 'exit');
}

/**
 * SIGKILL ends this process without its handlers, so on Linux the kernel is asked to kill the child
 * then. `setpriv` replaces itself by the command, which keeps the pid.
 */
function prepareOwnEnd(): readonly string[] {
  process.on('exit', killOwned);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      killOwned();
      process.exit(128 + constants.signals[signal]);
    });
  }
  const args = ['--pdeathsig', 'KILL', '--'];
  const works = spawnSync('setpriv', [...args, 'true']).status === 0;
  return process.platform === 'linux' && works ? ['setpriv', ...args] : [];
}
