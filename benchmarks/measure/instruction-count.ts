import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { findExecutable } from '../../test/support/find-executable.js';
import type { ServerOptions, TestServer } from '../../test/support/redis-server.js';

const profiler = 'valgrind';
/** A part of valgrind: sends commands to a program that runs under it. */
const control = 'vgdb';

/** A server under callgrind, at rest but for one look around a second. */
export const countingServer: ServerOptions = {
  under: [profiler, '--tool=callgrind'],
  args: ['--hz', '1', '--dynamic-hz', 'no'],
};

export function lackForCounting(): string | undefined {
  const missing = [profiler, control].filter((name) => findExecutable(name) === undefined);
  return missing.length === 0 ? undefined : `${missing.join(' and ')} missing (Debian: valgrind)`;
}

/** Instructions of the server for `work`, less its instructions in the same time at rest. */
export async function instructionsOf(
  server: TestServer,
  work: () => Promise<unknown>,
  restMs: number,
): Promise<number> {
  const worked = await count(server, work);
  const rested = await count(server, () => sleep(restMs));
  return worked.instructions - (rested.instructions / rested.elapsedMs) * worked.elapsedMs;
}

interface Counted {
  readonly instructions: number;
  readonly elapsedMs: number;
}

async function count(server: TestServer, work: () => Promise<unknown>): Promise<Counted> {
  await command(server, 'zero');
  const started = performance.now();
  await work();
  const elapsedMs = performance.now() - started;
  await command(server, 'dump');
  return { instructions: await newestSummary(server), elapsedMs };
}

async function command({ pid }: TestServer, word: 'zero' | 'dump'): Promise<void> {
  await promisify(execFile)(control, [`--pid=${pid}`, word]);
}

/** The number in `callgrind.out.PID.1`, `.2` and so on. */
async function newestSummary({ directory, pid }: TestServer): Promise<number> {
  const prefix = `callgrind.out.${pid}.`;
  const files = (await readdir(directory)).filter((name) => name.startsWith(prefix));
  const newest = Math.max(...files.map((name) => Number(name.slice(prefix.length))));
  const text = await readFile(join(directory, prefix + newest), 'utf8');
  const [, summary] = /^summary: (\d+)$/m.exec(text) ?? [];
  if (summary === undefined) throw new Error(`${prefix}${newest} holds no summary`);
  return Number(summary);
}
