import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { attempt } from '../failure.js';

interface Limits {
  readonly soft: number;
  readonly hard: number;
}

/**
 * The soft limit on open files with which this program was started. Node.js raises it to the hard
 * limit, and the old value is gone. The parent has the same soft limit, unless a program between
 * the two has set another limit, which then has another hard limit, too. Undefined if the soft
 * limit is not lower, or is unknown.
 */
export function softLimitAtStart(
  own: Limits | undefined = limitsOf('self'),
  parent: Limits | undefined = limitsOf(String(process.ppid)),
): number | undefined {
  if (own === undefined || parent === undefined) return undefined;
  return parent.hard === own.hard && parent.soft < own.soft ? parent.soft : undefined;
}

/**
 * The command line that runs `command` with this limit. It is unchanged if no program can set the
 * limit, and if the command is not found, so that the error names the command. No shell sets the
 * limit, because a shell drops variables with names that it refuses.
 */
export function withSoftLimit(
  command: readonly string[],
  limit: number | undefined,
  path: string = process.env['PATH'] ?? '',
): readonly string[] {
  if (limit === undefined || findProgram(command[0] ?? '', path) === undefined) return command;
  const prlimit = findProgram('prlimit', path);
  return prlimit === undefined ? command : [prlimit, `--nofile=${limit}:`, '--', ...command];
}

/** Known on Linux only. */
function limitsOf(pid: string): Limits | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/limits`, 'utf8'));
  const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m.exec(text ?? '') ?? [];
  return soft === undefined ? undefined : { soft: Number(soft), hard: Number(hard) };
}

function findProgram(name: string, path: string): string | undefined {
  const folders = name.includes('/') ? [''] : path.split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  const found = attempt(() => {
    accessSync(file, constants.X_OK);
    return statSync(file);
  });
  return found?.isFile() ?? false;
}
