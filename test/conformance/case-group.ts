import type { Ability } from './row.js';
import type { Scope } from './scope.js';

export type Run = (scope: Scope) => Promise<void> | void;

export interface NeedyCase {
  readonly needs: readonly Ability[];
  readonly run: Run;
}

export interface CaseGroup {
  readonly title: string;
  /** What each of its cases needs. */
  readonly needs?: readonly Ability[];
  /** By their titles. */
  readonly cases: Readonly<Record<string, Run | NeedyCase>>;
}

/** A case that only rows with these abilities run. */
export function needing(needs: Ability | readonly Ability[], run: Run): NeedyCase {
  return { needs: typeof needs === 'string' ? [needs] : needs, run };
}

export function casesOf(group: CaseGroup): (NeedyCase & { readonly title: string })[] {
  return Object.entries(group.cases).map(([title, entry]) => {
    const { needs, run } = typeof entry === 'function' ? needing([], entry) : entry;
    return { title, needs: [...(group.needs ?? []), ...needs], run };
  });
}
