import type { RedisTarget } from '../index.js';
import type { ServerSettings } from './common-options.js';

/** A connected client, and the two commands that are used beside the library's own. */
export interface Server {
  /** What a `Semaphore` is made on. */
  readonly target: RedisTarget;
  /** Keys that match a glob pattern, on every master of a cluster. A key may come more than once. */
  keys(pattern: string): AsyncIterable<string[]>;
  /** Fields of a hash; null for one that is not there. */
  fields(key: string, names: readonly string[]): Promise<(string | null)[]>;
  /** Ends all connections at once; never throws. */
  disconnect(): void;
}

/** A client that is being made. `ready` says whether it was connected once: from then on it reconnects by itself. */
export interface Pending {
  readonly settings: ServerSettings;
  readonly ready: () => boolean;
  /** Told of every error, for a failed `connect` does not always name the cause. */
  readonly onError: (error: unknown) => void;
}

/** What a client package is to this program. */
export interface ClientAdapter {
  /** Makes a client without connecting it. */
  create(pending: Pending): { readonly server: Server; connect(): Promise<unknown> };
}

/** Pause before the next attempt to reconnect, in milliseconds. */
export function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), 2000);
}

/** Entries that one SCAN looks at. */
export const SCAN_COUNT = 1000;

export type ScanReply = readonly [cursor: string, keys: string[]];

/** The pages of a SCAN over one server. */
export async function* scanPages(
  scan: (cursor: string) => Promise<ScanReply>,
): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, keys] = await scan(cursor);
    yield keys;
    cursor = next;
  } while (cursor !== '0');
}
