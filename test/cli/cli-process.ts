import type { ChildProcess, StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { spawnOwned } from '../support/owned-processes.js';
import { programOf } from '../support/program-file.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What runs the program; `args` follow. */
export const COMMAND: readonly string[] = [
  process.execPath,
  ...programOf(`${root}src/cli/main.ts`),
];

/** The same as words of a shell; `redsem` is then a function. */
export const SHELL_FUNCTION = `redsem() { ${COMMAND.map((word) => `'${word}'`).join(' ')} "$@"; }`;

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly url?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Default: empty and at its end; undefined: it stays open, see `type`. */
  readonly input?: string | undefined;
  readonly cwd?: string;
}

/** A program that runs, and what it has written so far. */
export class CliProcess {
  readonly child: ChildProcess;
  readonly result: Promise<CliResult>;
  #stdout = '';
  #stderr = '';

  constructor(command: readonly string[], { url, env, input, cwd }: CliOptions) {
    const [program = '', ...args] = command;
    const stdio: StdioOptions = 'pipe';
    const environment = { ...process.env, REDIS_URL: url ?? '', NO_COLOR: undefined, ...env };
    this.child = spawnOwned(program, args, { cwd: cwd ?? root, env: environment, stdio });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // A program that ends before it has read is no error of the test.
    this.child.stdin?.on('error', () => undefined);
    if (input !== undefined) this.child.stdin?.end(input);
    this.result = this.#untilClosed();
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  type(keys: string): void {
    this.child.stdin?.write(keys);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves once it has written this to stdout. */
  async shows(text: string | RegExp): Promise<void> {
    await eventually(() => {
      if (typeof text === 'string') expect(this.#stdout).to.contain(text, this.#stderr);
      else expect(this.#stdout).to.match(text, this.#stderr);
    });
  }

  /** Resolves once it has written this to stderr. */
  async complains(text: RegExp): Promise<void> {
    await eventually(() => expect(this.#stderr).to.match(text, this.#stdout));
  }

  #untilClosed(): Promise<CliResult> {
    return new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
      });
    });
  }
}

export function startRedsem(args: readonly string[], options: CliOptions = {}): CliProcess {
  return new CliProcess([...COMMAND, ...args], { input: '', ...options });
}

export function redsem(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startRedsem(args, options).result;
}

/** A shell script in which `redsem` can be called. */
export function shell(script: string, options: CliOptions = {}): Promise<CliResult> {
  return new CliProcess(['sh', '-c', `${SHELL_FUNCTION}; ${script}`], { input: '', ...options })
    .result;
}
