import { describe, isUnreachable } from '../error-causes.js';

/** How long calls must have failed, in milliseconds. */
const OUTAGE_MS = 5000;

/**
 * How much earlier than asked a timer may fire: a call without a reply fails after exactly that
 * time.
 */
const EARLY_MS = 2;

export interface OutageListener {
  /**
   * Gets the last error, once per outage.
   * @returns false when no listener gets it: it is then reported again
   */
  onOutage(error: unknown): boolean;
  /** A call has succeeded. */
  onReply(): void;
}

/**
 * Notices that calls fail, or get no reply, while requests wait without an error. It needs no
 * timer: a call that gets no reply fails after min(ttl, 5000) ms, and is then tried again.
 */
export class OutageWatch {
  /** Undefined without a listener: the outage is then reported to a later one. */
  listener: OutageListener | undefined;
  /** Monotonic time at which the first of the calls that failed was sent. */
  #since: number | undefined;
  #reported = false;

  onFailure(sentAt: number, now: number, error: unknown): void {
    this.#since ??= sentAt;
    if (this.#reported || now - this.#since < OUTAGE_MS - EARLY_MS) return;
    this.#reported = this.listener?.onOutage(error) ?? false;
  }

  onReply(): void {
    this.#since = undefined;
    this.#reported = false;
    this.listener?.onReply();
  }

  /** No request waits: the time until the next call is no outage. */
  onIdle(): void {
    this.#since = undefined;
  }
}

/** What the `warning` says. */
export function outageMessage(name: string, error: unknown): string {
  const what = isUnreachable(error) ? 'cannot reach Redis' : 'the backend fails';
  return `${what}: acquire() of ${JSON.stringify(name)} waits, and no call has succeeded for 5 s; it is retried; last error: ${describe(error)}`;
}
