import type { Ability } from './row.js';
import type { Scope } from './scope.js';

export type Run = (scope: Scope) => Promise<void> | void;

export interface NeedyCase {
  readonly needs: readonly Ability[];
  readonly run: Run;
}

/** Cases by their titles. */
export interface CaseGroup {
  readonly title: string;
  /** What each of its cases needs. */
  readonly needs?: readonly Ability[];
  readonly cases: Readonly<Record<string, Run | NeedyCase>>;
}

/** A case that only rows with these abilities run. */
export function needing(needs: Ability | readonly Ability[], run: Run): NeedyCase {
  return { needs: typeof needs === 'string' ? [needs] : needs, run };
}

export function needsOf(group: CaseGroup, entry: Run | NeedyCase): readonly Ability[] {
  const own = typeof entry === 'function' ? [] : entry.needs;
  return [...(group.needs ?? []), ...own];
}

export function runOf(entry: Run | NeedyCase): Run {
  return typeof entry === 'function' ? entry : entry.run;
}
