import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** Distinguishes a process from a later one with the same number. */
  readonly started: string;
}

/** All processes that can be seen; empty where the system has neither /proc nor ps. */
export function listProcesses(): ProcessEntry[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => linuxEntry(Number(name)) ?? []);
  }
  return [...ps('-A', '-o', 'pid=,ppid=,lstart=').matchAll(/^\s*(\d+)\s+(\d+)\s+(.+)$/gm)].map(
    ([, pid, parent, started = '']) => ({ pid: Number(pid), parent: Number(parent), started }),
  );
}

/** Whether signals from the keyboard of the terminal reach this process's group. */
export function isInForeground(): boolean {
  if (process.platform === 'linux') {
    const fields = statFields('self');
    return fields !== undefined && fields[2] === fields[5];
  }
  const groups = ps('-o', 'pgid=,tpgid=', '-p', String(process.pid));
  const [group, foreground] = groups.trim().split(/\s+/);
  return group === foreground;
}

/** What it prints; nothing where there is none. */
function ps(...args: string[]): string {
  // Where it cannot be started there is no text, whatever the type says.
  const stdout: string | null = spawnSync('ps', args, { encoding: 'utf8' }).stdout;
  return stdout ?? '';
}

function linuxEntry(pid: number): ProcessEntry | undefined {
  const fields = statFields(String(pid));
  // A zombie has ended; only its parent has not looked yet.
  if (fields === undefined || fields[0] === 'Z') return undefined;
  return { pid, parent: Number(fields[1]), started: fields[19] ?? '' };
}

/** From the state on, see proc(5); undefined when the process is gone. */
function statFields(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name, in parentheses, may hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
