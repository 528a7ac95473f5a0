import type { TestServer } from '../../test/support/redis-server.js';

/** The longest time that a script call may take, in ms: it holds up all other clients. */
export const SLOW_MS = 3;

/** How many entries are read at most; a single entry is too many already. */
const MOST_ENTRIES = 1000;

export async function logSlowCalls(server: TestServer): Promise<void> {
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', String(SLOW_MS * 1000));
  await server.command('CONFIG', 'SET', 'slowlog-max-len', String(MOST_ENTRIES));
  await server.command('SLOWLOG', 'RESET');
}

/** The durations of script calls that took longer than `SLOW_MS`, in ms. */
export async function readSlowCalls(server: TestServer): Promise<number[]> {
  const entries = await server.command('SLOWLOG', 'GET', String(MOST_ENTRIES));
  return Array.isArray(entries) ? entries.flatMap(durationOf) : [];
}

/** An entry is: number, time, µs, the words of the command, client. */
function durationOf(entry: unknown): number[] {
  if (!Array.isArray(entry) || !/^eval(sha)?,/i.test(String(entry[3]))) return [];
  return [Number(entry[2]) / 1000];
}
