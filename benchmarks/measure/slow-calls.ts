import type { TestServer } from '../../test/support/redis-server.js';

/** The longest time that a script call may take, in ms: it holds up all other clients. */
export const SLOW_MS = 3;

/** How many entries are read at most; a single entry is too many already. */
const MOST_ENTRIES = 1000;

/** Script calls that held the server up. */
export interface SlowCalls {
  /** The number of calls that took longer than `SLOW_MS`. */
  readonly count: number;
  /** The longest script call, in ms; undefined before Redis 7, which does not measure it. */
  readonly longestMs: number | undefined;
}

export async function logSlowCalls(server: TestServer): Promise<void> {
  await server.command('CONFIG', 'SET', 'slowlog-log-slower-than', String(SLOW_MS * 1000));
  await server.command('CONFIG', 'SET', 'slowlog-max-len', String(MOST_ENTRIES));
  // The longest of all percentiles.
  const longest = ['CONFIG', 'SET', 'latency-tracking-info-percentiles', '100'];
  await server.command(...longest).catch(() => undefined);
  await server.command('SLOWLOG', 'RESET');
}

export async function readSlowCalls(server: TestServer): Promise<SlowCalls> {
  const entries = await server.command('SLOWLOG', 'GET', String(MOST_ENTRIES));
  const info = String(await server.command('INFO', 'latencystats'));
  const longest = [...info.matchAll(/^latency_percentiles_usec_eval(?:sha)?:p100=([\d.]+)/gm)];
  return {
    count: Array.isArray(entries) ? entries.filter(isScriptCall).length : 0,
    longestMs: longestOf(longest.map(([, us]) => Number(us) / 1000)),
  };
}

export function sumOfSlowCalls(parts: readonly SlowCalls[]): SlowCalls {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    longestMs: longestOf(parts.flatMap(({ longestMs }) => longestMs ?? [])),
  };
}

function longestOf(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.max(...times);
}

/** An entry is: number, time, µs, the words of the command, client. */
function isScriptCall(entry: unknown): boolean {
  const words: unknown = Array.isArray(entry) ? entry[3] : undefined;
  return Array.isArray(words) && /^eval(sha)?$/i.test(String(words[0]));
}
