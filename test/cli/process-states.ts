import { readdirSync, readFileSync } from 'node:fs';

/** A process as Linux shows it, see proc(5), and all its descendants. */
export function familyOf(root: number | undefined) {
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

/** `program`: at most 15 bytes of its name. `state`: a letter, T is stopped, Z has ended. */
function stateOf(name: string) {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    const [, program = '', state = '', parent] = /\((.*)\) (\w) (\d+)/s.exec(stat) ?? [];
    return [{ pid: Number(name), parent: Number(parent), program, state }];
  } catch {
    return [];
  }
}
