import type { ProcessEntry } from './process-list.js';
import { listProcesses } from './process-list.js';

/** The command and what it has started. */
export interface SignalTarget {
  send(signal: NodeJS.Signals): void;
  /** Whether anything of it still runs. */
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
 * A child that shares the process group with this program, as it must to use the terminal: the
 * group may hold the calling script and the rest of a pipeline, too, so signals go to the child and
 * its descendants one by one.
 */
export function treeTarget(pid: number): SignalTarget {
  // A process that has lost its parent is no longer found by descent.
  const known = new Map<number, ProcessEntry>();
  const alive = (): Pick<ProcessEntry, 'pid'>[] => {
    const running = listProcesses();
    // Where nobody can be seen, there is at least the child.
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

/** False when there is nobody to get it. */
function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Somebody else's, as after sudo: it runs, and only the system's owner can do something about
    // it.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
