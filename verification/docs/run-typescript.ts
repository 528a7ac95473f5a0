import type { ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { spawnOwned } from '../../test/support/owned-processes.js';

const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** How long a program may take, in milliseconds. */
const PATIENCE = 60_000;

export interface TypeScriptProgram {
  readonly file: string;
  readonly args?: readonly string[];
  /** Its `paths` say what `redsem` means. */
  readonly tsconfig: string;
  readonly cwd: string;
  readonly redisUrl: string;
}

export interface Output {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a program with its output in pipes. It never outlives this process. */
export function startTypeScript(
  program: TypeScriptProgram,
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  const { file, args = [], tsconfig, cwd, redisUrl } = program;
  const environment = {
    ...process.env,
    TSX_TSCONFIG_PATH: tsconfig,
    REDIS_URL: redisUrl,
    NODE_OPTIONS: '',
    ...env,
  };
  return spawnOwned(process.execPath, ['--import', tsx, file, ...args], {
    cwd,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs a program to its end; a failure is a result, not an error. */
export async function runTypeScript(program: TypeScriptProgram): Promise<Output> {
  const child = startTypeScript(program);
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => (texts[stream] += text));
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code));
  });
  clearTimeout(timer);
  return { exitCode, ...texts };
}
