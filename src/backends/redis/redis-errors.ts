import { systemClock } from '../../time/clock.js';

/**
 * Reply errors that pass by themselves: failover, start-up, resharding (a script then finds some of
 * its keys on another node), a slow script, a full server's back-off. The words may stand inside a
 * longer text, for Redis 6.2 wraps what a script ran into.
 */
const PASSING =
  /(?:^|[\s:-])(?:LOADING|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|BUSY|NOSCRIPT|UNBLOCKED)\b|max number of clients|non local key|rehashing of the slot|cluster is down/;

/** Reply errors begin with a word in capitals; errors of sockets and clients do not. */
const REPLY = /^-?[A-Z][A-Z0-9_]+ /;

/** What ioredis says of a client that subscribes. */
const SUBSCRIBER = /in subscriber mode/i;

const READ_ONLY = /(?:^|[\s:-])READONLY\b/;

/** How long a server may say that it is read-only before that counts as final. */
const READ_ONLY_PATIENCE_MS = 5000;

/**
 * Whether a retry can help. Lost connections and the like: yes. Replies that say why the command
 * cannot work (wrong type, no rights, out of memory): no. Read-only: for a while, because a
 * failover passes, but a client that was pointed at a replica stays read-only.
 */
export class RetryRule {
  /** When a row of read-only replies began, and when the last reply of it came. */
  #since = -Infinity;
  #last = -Infinity;

  /** A call has succeeded. */
  onReply(): void {
    this.#last = -Infinity;
  }

  isRetryable(error: unknown): boolean {
    const message = error instanceof Error ? error.message : String(error);
    if (READ_ONLY.test(message)) return this.#mayPass();
    if (PASSING.test(message)) return true;
    if (error instanceof TypeError || SUBSCRIBER.test(message)) return false;
    return !REPLY.test(message);
  }

  #mayPass(): boolean {
    const now = systemClock.monotonic();
    if (now - this.#last > READ_ONLY_PATIENCE_MS) this.#since = now;
    this.#last = now;
    return now - this.#since < READ_ONLY_PATIENCE_MS;
  }
}
