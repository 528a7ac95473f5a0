import type { Ability } from './row.js';
import type { Scope } from './scope.js';

export type Run = (scope: Scope) => Promise<void> | void;

/** Cases that need the same abilities of a row. */
export interface CaseGroup {
  readonly title: string;
  readonly needs: readonly Ability[];
  /** Gives each case to `it`. */
  readonly define: (it: (title: string, run: Run) => void) => void;
}

export function caseGroup(
  title: string,
  needs: CaseGroup['needs'],
  define: CaseGroup['define'],
): CaseGroup {
  return { title, needs, define };
}
