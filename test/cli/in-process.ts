import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { stub } from 'sinon';

import { runCommandLine } from '../../src/cli/command-line.js';
import type { ProgramResult } from '../tooling/run-program.js';
import { type CliOptions, environmentOf } from './cli-fixture.js';

type Done = () => void;

/**
 * What a process of `redsem` with these arguments writes and exits with, by its command line in
 * this process: most cases are about words, and a process for each costs a quarter of a second.
 */
export async function redsemHere(
  args: readonly string[],
  options: Pick<CliOptions, 'url' | 'env'> = {},
): Promise<ProgramResult> {
  const written = { stdout: '', stderr: '' };
  const { env } = process;
  const isTerminal = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
  const streams = (['stdout', 'stderr'] as const).map((name) =>
    stub(process[name], 'write').callsFake((text: unknown, done?: unknown) => {
      written[name] += String(text);
      (done as Done | undefined)?.();
      return true;
    }),
  );
  const byDescriptor = stub(fs, 'writeSync').callsFake((_file: number, text: unknown) => {
    written.stderr += String(text);
    return String(text).length;
  });
  syncBuiltinESMExports();
  process.env = environmentOf(options);
  Object.defineProperty(process.stdout, 'isTTY', { value: false, configurable: true });
  try {
    return { code: await runCommandLine(args), signal: null, ...written };
  } finally {
    process.env = env;
    for (const each of [...streams, byDescriptor]) each.restore();
    syncBuiltinESMExports();
    if (isTerminal === undefined) Reflect.deleteProperty(process.stdout, 'isTTY');
    else Object.defineProperty(process.stdout, 'isTTY', isTerminal);
  }
}
