import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { attempt, codeOfError } from '../failure.js';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** Distinguishes a process from a later one with the same number. */
  readonly started: string;
}

/** All visible processes; empty if the system has neither /proc nor ps. */
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

/** Whether the keyboard of the terminal sends signals to this process's group. */
export function isInForeground(): boolean {
  if (process.platform === 'linux') {
    const fields = statFields('self');
    return fields !== undefined && fields[2] === fields[5];
  }
  const groups = ps('-o', 'pgid=,tpgid=', '-p', String(process.pid));
  const [group, foreground] = groups.trim().split(/\s+/);
  return group === foreground;
}

/** The output of `ps`; empty without `ps`. */
function ps(...args: string[]): string {
  // Without `ps` there is no text, whatever the type says.
  const stdout: string | null = spawnSync('ps', args, { encoding: 'utf8' }).stdout;
  return stdout ?? '';
}

function linuxEntry(pid: number): ProcessEntry | undefined {
  const fields = statFields(String(pid));
  // A zombie has ended; its parent has not read its exit code yet.
  if (fields === undefined || fields[0] === 'Z') return undefined;
  return { pid, parent: Number(fields[1]), started: fields[19] ?? '' };
}

/** The fields from the state on, see proc(5); undefined when the process is gone. */
function statFields(pid: string): string[] | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The program's name, in parentheses, may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** A command and the processes that it has started. */
export interface SignalTarget {
  send(signal: NodeJS.Signals): void;
  /** Whether a process of the command still runs. */
  isAlive(): boolean;
}

/** A child that leads its own process group. */
export function groupTarget(pid: number): SignalTarget {
  return {
    send: (signal) => void kill(-pid, signal),
    isAlive: () => kill(-pid, 0),
  };
}

/**
 * A child that shares the process group with this program, because it uses the terminal. The group
 * may also hold the calling script and the rest of a pipeline, so each signal goes to the child and
 * to each of its descendants.
 */
export function treeTarget(pid: number): SignalTarget {
  // A process whose parent has ended is not found among the descendants.
  const known = new Map<number, ProcessEntry>();
  const alive = (): Pick<ProcessEntry, 'pid'>[] => {
    const running = listProcesses();
    // Without visible processes there is still the child.
    if (running.length === 0) return kill(pid, 0) ? [{ pid }] : [];
    for (const entry of descendants(running, pid)) known.set(entry.pid, entry);
    return running.filter((entry) => known.get(entry.pid)?.started === entry.started);
  };
  return {
    send: (signal) => {
      for (const entry of alive()) kill(entry.pid, signal);
    },
    isAlive: () => alive().length > 0,
  };
}

/** The process itself first. */
function descendants(running: readonly ProcessEntry[], root: number): ProcessEntry[] {
  const found = running.filter(({ pid }) => pid === root);
  for (const { pid } of found) found.push(...running.filter(({ parent }) => parent === pid));
  return found;
}

/** False when no process gets it. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // The process of another user, as after sudo: it runs.
    return codeOfError(error) === 'EPERM';
  }
}
