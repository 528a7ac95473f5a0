import { NO_LIMIT } from '../backends/protocol.js';
import { describe, isUnreachable } from '../error-causes.js';
import { quoted } from './shown.js';

// What the warnings of a semaphore say, by their codes.

export function storedLimit(name: string, stored: number, given: number): string {
  const [counts, own] = [stored, given].map((limit) => (limit === NO_LIMIT ? Infinity : limit));
  return `the limit of ${quoted(name)} is ${counts}, which setLimit or "redsem limit" stored, and not ${own}, which this object was made with; setLimit(undefined) or redsem limit ${quoted(name)} none removes the stored limit`;
}

export function limitMismatch(name: string, own: number, other: number): string {
  return `${quoted(name)} is used with limit ${own} here and ${other} elsewhere: each process obeys its own until setLimit stores one`;
}

export function backendUnreachable(name: string, error: unknown): string {
  const what = isUnreachable(error) ? 'cannot reach Redis' : 'the backend fails';
  return `${what}: acquire() of ${JSON.stringify(name)} waits, and no call has succeeded for 5 s; it is retried; last error: ${describe(error)}`;
}
