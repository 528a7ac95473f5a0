import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { spawnOwned } from '../support/owned-processes.js';

/** The root of the repository, with a trailing slash. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ProgramResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  /** Default: the root of the repository. */
  readonly cwd?: string;
  /** Beside the variables of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: empty and at its end; undefined: it stays open, see `type`. */
  readonly input?: string | undefined;
  /** Gives the program a channel for messages. */
  readonly ipc?: boolean;
}

/** A running program, and its output so far. It never outlives this process. */
export class Program {
  readonly child: ChildProcess;
  readonly result: Promise<ProgramResult>;
  stdout = '';
  stderr = '';
  /** Both together, as they came. */
  output = '';

  constructor([program = '', ...args]: readonly string[], options: ProgramOptions = {}) {
    const { cwd = ROOT, env, input, ipc = false } = { input: '', ...options };
    const stdio = Array.from({ length: ipc ? 4 : 3 }, (_, i) => (i < 3 ? 'pipe' : 'ipc'));
    this.child = spawnOwned(program, args, { cwd, env: { ...process.env, ...env }, stdio });
    for (const stream of ['stdout', 'stderr'] as const) {
      this.child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text;
        this.output += text;
      });
    }
    // A program that ends before it has read is no error of the test.
    this.child.stdin?.on('error', () => undefined);
    if (input !== undefined) this.child.stdin?.end(input);
    this.result = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr });
      });
    });
  }

  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  /** Resolves once it has written this to stdout. */
  async shows(text: string | RegExp): Promise<void> {
    const check = (): void => {
      if (typeof text === 'string') expect(this.stdout).to.contain(text, this.stderr);
      else expect(this.stdout).to.match(text, this.stderr);
    };
    // A program that has ended writes no more.
    await Promise.race([eventually(check), this.result.then(check)]);
  }

  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<ProgramResult> {
    this.child.kill(signal);
    return this.result;
  }
}

/** Runs a program to its end; a failure is a result, not an error. */
export function runProgram(
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Program(command, options).result;
}

/** Runs a program of Node.js that must succeed; the error shows its output. */
export async function runNode(args: readonly string[], cwd: string = ROOT): Promise<ProgramResult> {
  const result = await runProgram([process.execPath, ...args], { cwd });
  if (result.code === 0) return result;
  const { code, stdout, stderr } = result;
  throw new Error(`${args.join(' ')} exited with ${code}\n${stdout}${stderr}`);
}
