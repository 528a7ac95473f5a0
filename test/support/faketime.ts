import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The value of LD_PRELOAD that gives a process a false clock; undefined without libfaketime. */
export function findFakeTime(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  // This very process runs on the C library: right on every architecture.
  const [libc] = /\/\S+\/libc\.so\.6$/m.exec(readFileSync('/proc/self/maps', 'utf8')) ?? [];
  if (libc === undefined) return undefined;
  const folders = [dirname(libc), join('/usr', dirname(libc)), '/usr/lib', '/usr/lib64'];
  const faketime = [...folders, '/usr/local/lib']
    .map((folder) => join(folder, 'faketime', 'libfaketime.so.1'))
    .find((path) => existsSync(path));
  // The C library goes first because libfaketime and the jemalloc of a server call each other
  // without end.
  return faketime === undefined ? undefined : `${faketime}:${libc}`;
}

/** Environment for a redis-server that reads its offset from `file` at every look at the clock. */
export function movableClockEnvironment(file: string): NodeJS.ProcessEnv {
  return {
    LD_PRELOAD: needFakeTime(),
    // It would win over the file.
    FAKETIME: undefined,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
}

const tried = new Map<string, boolean>();

/** With these a server starts, and ends with status 1: it cannot load the module. */
const START_AND_END = ['--port', '0', '--save', '', '--loadmodule', '/nonexistent'];

/**
 * Whether a server program can get a movable clock. Debian's valkey-server and Redis 8 cannot: they
 * take memory from two allocators, and end with SIGSEGV; Redis 8 only when it starts to serve, so
 * that `--version` alone does not show it. A server for another C library is not loaded at all,
 * which also ends with status 1.
 */
export function runsOnFakeClock(binary: string): boolean {
  const env = { ...process.env, LD_PRELOAD: needFakeTime(), FAKETIME: describeOffset(0) };
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

function needFakeTime(): string {
  const libraries = findFakeTime();
  if (libraries !== undefined) return libraries;
  throw new Error('libfaketime not found (Debian: apt-get install faketime)');
}
