/** One small change of a source file that a test should notice. */
export interface Mutant {
  /** Rises through the whole run, from 1. */
  readonly id: number;
  /** Path from the root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  readonly before: string;
  /** '' where the text is dropped. */
  readonly after: string;
}

export type Outcome =
  /** A test failed. */
  | 'killed'
  /** The tests did not come to an end. */
  | 'timeout'
  /** All tests that reach it passed. */
  | 'survived'
  /** No test reaches it. */
  | 'unreached';

export interface Result {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** The test that noticed. */
  readonly by: string | undefined;
}

/** Text on one line, short enough for a table. */
export function oneLine(text: string): string {
  const joined = text.replace(/\s+/g, ' ').trim();
  return joined.length > 90 ? `${joined.slice(0, 87)}...` : joined;
}
