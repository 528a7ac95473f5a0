import type { ChildProcess } from 'node:child_process';

import { untilExitCode } from '../../test/support/mocha-run.js';

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * All that a run wrote to its standard output, and what the last line of it says that reads like
 * `5 passed, 0 failed, 2 skipped`. `isShown`: it goes to the terminal, too.
 */
export async function untilEnded(child: ChildProcess, isShown = false) {
  const began = performance.now();
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (isShown) process.stdout.write(chunk);
  });
  const code = await untilExitCode(child);
  const seconds = Math.round((performance.now() - began) / 1000);
  return { code, text, totals: totalsIn(text), seconds };
}

function totalsIn(text: string): Totals | undefined {
  const lines = text.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm);
  const last = [...lines].at(-1);
  if (last === undefined) return undefined;
  const [passed = 0, failed = 0, skipped = 0] = last.slice(1).map((digits) => Number(digits ?? 0));
  return { passed, failed, skipped };
}
