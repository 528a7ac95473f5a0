import { systemClock } from '../../time/clock.js';

/**
 * Reply errors that pass by themselves: failover, start-up, resharding, a slow script, a full
 * server's back-off. The words may stand inside a longer text, for Redis 6.2 wraps what a script
 * ran into.
 */
const PASSING =
  /(?:^|[\s:-])(?:LOADING|READONLY|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|BUSY|NOSCRIPT|UNBLOCKED)\b|max number of clients/;

/** Reply errors begin with a word in capitals; errors of sockets and clients do not. */
const REPLY = /^-?[A-Z][A-Z0-9_]+ /;

/** What ioredis says of a client that subscribes. */
const SUBSCRIBER = /in subscriber mode/i;

/**
 * Whether a retry can help. Lost connections and the like: yes. Replies that say why the
 * command cannot work (wrong type, no rights, out of memory): no.
 */
export function isRetryableError(error: unknown): boolean {
  const message = error instanceof Error ? error.message : String(error);
  if (PASSING.test(message)) return true;
  if (error instanceof TypeError || SUBSCRIBER.test(message)) return false;
  return !REPLY.test(message);
}

export function isReadOnlyError(error: unknown): boolean {
  return error instanceof Error && /(?:^|[\s:-])READONLY\b/.test(error.message);
}

/** How long a server may say that it is read-only before that counts as final. */
const READ_ONLY_PATIENCE_MS = 5000;

/** A failover passes; a client that was pointed at a replica stays read-only. */
export class ReadOnlyRule {
  /** When a row of read-only replies began, and when the last one came. */
  #since = -Infinity;
  #last = -Infinity;

  /** A call has succeeded. */
  onReply(): void {
    this.#last = -Infinity;
  }

  /** The server said that it is read-only; returns whether a retry can help. */
  onReadOnly(): boolean {
    const now = systemClock.monotonic();
    if (now - this.#last > READ_ONLY_PATIENCE_MS) this.#since = now;
    this.#last = now;
    return now - this.#since < READ_ONLY_PATIENCE_MS;
  }
}
