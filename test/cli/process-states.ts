import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** A process as Linux shows it, see proc(5). */
export interface ProcessState {
  readonly pid: number;
  readonly parent: number;
  /** At most 15 bytes of its name. */
  readonly program: string;
  /** One letter: T is stopped, Z has ended. */
  readonly state: string;
}

/** A process and all that descend from it. */
export function familyOf(root: number | undefined): ProcessState[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? stateOf(name) : []));
  const family = all.filter(({ pid }) => pid === root);
  for (const { pid } of family) family.push(...all.filter(({ parent }) => parent === pid));
  return family;
}

/** The first process of a program among the descendants of a process. */
export function findUnder(root: number | undefined, program: string): number {
  const found = familyOf(root).find((each) => each.program === program);
  if (found === undefined) throw new Error(`no ${program} runs there`);
  return found.pid;
}

/** Whether a process has a handler for a signal. */
export function catches(pid: number | undefined, signal: NodeJS.Signals): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const caught = BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((caught >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

function stateOf(name: string): ProcessState[] {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    const program = stat.slice(stat.indexOf('(') + 1, end);
    const [state = '', parent] = stat.slice(end + 2).split(' ');
    return [{ pid: Number(name), parent: Number(parent), program, state }];
  } catch {
    return [];
  }
}
