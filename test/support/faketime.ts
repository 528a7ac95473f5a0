import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface FakeTimeLibraries {
  readonly faketime: string;
  readonly libc: string;
}

/**
 * Where libfaketime and the C library stand, or undefined where processes cannot get a false clock.
 */
export function findFakeTime(): FakeTimeLibraries | undefined {
  if (process.platform !== 'linux') return undefined;
  // This very process runs on it: right on every architecture.
  const [libc] = /\/\S+\/libc\.so\.6$/m.exec(readFileSync('/proc/self/maps', 'utf8')) ?? [];
  if (libc === undefined) return undefined;
  const folders = [dirname(libc), join('/usr', dirname(libc)), '/usr/lib', '/usr/lib64'];
  const faketime = [...folders, '/usr/local/lib']
    .map((folder) => join(folder, 'faketime', 'libfaketime.so.1'))
    .find((path) => existsSync(path));
  return faketime === undefined ? undefined : { faketime, libc };
}

/**
 * Environment for a redis-server that reads its offset from `file` at every look at the clock. The
 * C library goes first because libfaketime and jemalloc, which the server brings, call each other
 * without end. FAKETIME must be absent: it would win over the file.
 */
export function movableClockEnvironment(file: string): NodeJS.ProcessEnv {
  const { faketime, libc } = needFakeTime();
  return {
    LD_PRELOAD: `${faketime}:${libc}`,
    FAKETIME: undefined,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
}

const tried = new Map<string, boolean>();

/**
 * A server starts with these, and ends with status 1: it has nowhere to listen, and a module that
 * it cannot load.
 */
const START_AND_END = ['--port', '0', '--save', '', '--loadmodule', '/nonexistent'];

/**
 * Whether a server program can get a movable clock. Debian's valkey-server and Redis 8 cannot: they
 * take some memory from the jemalloc that they are linked with and some from the C library that
 * goes first, and end with SIGSEGV; Redis 8 only when it starts to serve, so that `--version` alone
 * does not show it. A server with a C library of another version than this machine's is not loaded
 * at all, which also ends with status 1.
 */
export function runsOnFakeClock(binary: string): boolean {
  const { faketime, libc } = needFakeTime();
  const env = { ...process.env, LD_PRELOAD: `${faketime}:${libc}`, FAKETIME: describeOffset(0) };
  const ends = (args: readonly string[]): number | null =>
    spawnSync(binary, args, { env, timeout: 10_000, stdio: 'ignore' }).status;
  const runs = tried.get(binary) ?? (ends(['--version']) === 0 && ends(START_AND_END) === 1);
  tried.set(binary, runs);
  return runs;
}

/** By rename, so that the process never reads half an offset. */
export function writeClockOffset(file: string, offset: number): void {
  writeFileSync(`${file}.new`, `${describeOffset(offset)}\n`);
  renameSync(`${file}.new`, file);
}

function describeOffset(offset: number): string {
  return `${offset < 0 ? '-' : '+'}${(Math.abs(offset) / 1000).toFixed(6)}s`;
}

function needFakeTime(): FakeTimeLibraries {
  const libraries = findFakeTime();
  if (libraries !== undefined) return libraries;
  throw new Error('libfaketime not found (Debian: apt-get install faketime)');
}
