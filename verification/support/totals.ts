export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The last line of a run that reads like one: `5 passed, 0 failed, 2 skipped`. */
export function totalsIn(output: string): Totals | undefined {
  const lines = output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm);
  const last = [...lines].at(-1);
  if (last === undefined) return undefined;
  const [passed = 0, failed = 0, skipped = 0] = last.slice(1).map((digits) => Number(digits ?? 0));
  return { passed, failed, skipped };
}
