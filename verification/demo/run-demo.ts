import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
// By its place, for the demo may run with a PATH that has nothing on it.
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const HANGS = 20_000;

export interface DemoResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly milliseconds: number;
}

export interface RunningDemo {
  readonly child: ChildProcess;
  readonly result: Promise<DemoResult>;
  /** What it has printed so far. */
  stdout(): string;
}

/** Runs the demo as a process, without what this machine has: neither REDIS_URL nor programs on PATH. */
export function startDemo(args: readonly string[], environment: NodeJS.ProcessEnv): RunningDemo {
  const started = performance.now();
  const child = spawn(process.execPath, ['--import', tsx, 'demo/main.ts', ...args], {
    cwd: root,
    env: { ...process.env, REDIS_URL: '', REDIS_SERVER: '', PATH: '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANGS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const result = new Promise<DemoResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => {
      resolve({ exitCode, stdout, stderr, milliseconds: performance.now() - started });
    });
  });
  return { child, result, stdout: () => stdout };
}

export function runDemo(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<DemoResult> {
  return startDemo(args, environment).result;
}
