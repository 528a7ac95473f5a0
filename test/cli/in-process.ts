import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createSandbox } from 'sinon';

import { runCommandLine } from '../../src/cli/command-line.js';
import type { ProgramResult } from '../tooling/run-program.js';
import { type CliOptions, environmentOf } from './cli-fixture.js';

/**
 * The output and the exit code of a process of `redsem`, by its command line in this process: most
 * cases are about words, and a process for each costs a quarter of a second.
 */
export async function redsemHere(
  args: readonly string[],
  options: Pick<CliOptions, 'url' | 'env'> = {},
): Promise<ProgramResult> {
  const written = { stdout: '', stderr: '' };
  const box = createSandbox();
  for (const name of ['stdout', 'stderr'] as const) {
    box.stub(process[name], 'write').callsFake((text: unknown, done?: unknown) => {
      written[name] += String(text);
      (done as (() => void) | undefined)?.();
      return true;
    });
  }
  box.stub(fs, 'writeSync').callsFake((_file: number, text: unknown) => {
    written.stderr += String(text);
    return String(text).length;
  });
  box.stub(process, 'env').value(environmentOf(options));
  if (process.stdout.isTTY) box.stub(process.stdout, 'isTTY').value(false);
  syncBuiltinESMExports();
  try {
    return { code: await runCommandLine(args), signal: null, ...written };
  } finally {
    box.restore();
    syncBuiltinESMExports();
  }
}
