import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The root of the repository, with a trailing slash. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; a failure is a result, not an error. It is ended after two minutes. */
export function runProgram(
  program: string,
  args: readonly string[],
  cwd: string = ROOT,
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const options = { cwd, timeout: 120_000, maxBuffer: 32 * 1024 * 1024 };
    execFile(program, args, options, (error, stdout, stderr) => {
      // Without a number the program could not be started, or was ended.
      if (error !== null && typeof error.code !== 'number') {
        reject(new Error(`${program} did not run to its end`, { cause: error }));
      } else resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Runs a program that must succeed; the error shows all that it wrote. */
export async function runOrThrow(
  program: string,
  args: readonly string[],
  cwd: string = ROOT,
): Promise<ProgramResult> {
  const result = await runProgram(program, args, cwd);
  if (result.exitCode === 0) return result;
  throw new Error(
    `${[program, ...args].join(' ')} exited with ${result.exitCode}\n${result.stdout}${result.stderr}`,
  );
}
