import { parseArgs } from 'node:util';

export interface DemoOptions {
  readonly workers: number;
  /** The semaphore's limit. */
  readonly permits: number;
  /** How many requests in flight the HTTP server allows. */
  readonly allowed: number;
  /** How long the workers work after all of them have started. */
  readonly seconds: number;
  /** How long the permit of a killed holder lives, in milliseconds. */
  readonly ttl: number;
}

export class UsageError extends Error {}

export const HELP = `Twenty workers call an HTTP server under a semaphore of 4. The server counts its requests in flight:
never more than 4. Ends by itself with the proof; exit code 0, or 1 if anything was violated.

npm run demo -- [flags]

  --seconds N   how long the workers work: 2 to 9, default 7
  --permits N   limit of the semaphore: 1 to 20, default 4
  --allowed N   requests in flight that the HTTP server allows, default as --permits; for tests: with
                --permits 5 --allowed 4 the proof has to fail
  --help        this text

The semaphore lives on the first of these:

  REDIS_URL     a server of yours. Keys start with a random prefix; they expire by themselves (the last one
                after a day), and nothing is deleted.
  REDIS_SERVER  a server program (path or name). It is started on a free port of 127.0.0.1, without data
                on disk, and stopped at the end.
  PATH          the same with the redis-server or valkey-server found there
  none          the memory backend: all workers in one process, none is killed

With a server the workers are separate processes, half with the client redis and half with ioredis, and
one that holds a permit is killed with SIGKILL. NO_COLOR=1 turns colors off. Without a terminal the live view
becomes one line a second.`;

/** @throws {UsageError} undefined: help is wanted. */
export function readCommandLine(args: readonly string[]): DemoOptions | undefined {
  const flags = parseFlags(args);
  if (flags.help === true) return undefined;
  const seconds = integer('--seconds', flags.seconds ?? '7', 2, 9);
  const permits = integer('--permits', flags.permits ?? '4', 1, 20);
  const allowed = integer('--allowed', flags.allowed ?? String(permits), 1, 20);
  // The permit of the killed worker must be back before a short run ends.
  const ttl = Math.min(2000, seconds * 500);
  return { workers: 20, permits, allowed, seconds, ttl };
}

interface Flags {
  help?: boolean;
  seconds?: string;
  permits?: string;
  allowed?: string;
}

function parseFlags(args: readonly string[]): Flags {
  try {
    const options = {
      help: { type: 'boolean', short: 'h' },
      seconds: { type: 'string' },
      permits: { type: 'string' },
      allowed: { type: 'string' },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function integer(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new UsageError(`${flag}: expected an integer from ${min} to ${max}, got '${text}'`);
}
