import type { Clock } from './clock.js';

/** The backend took too long. Whether the call was executed, or will be, is unknown. */
export class NoReplyError extends Error {
  constructor(limit: number) {
    super(`no reply within ${Math.round(limit)} ms`);
    this.name = 'NoReplyError';
  }
}

/** How long one call may take before it is counted as failed, in milliseconds. */
export function callLimit(ttl: number): number {
  return Math.min(ttl, 5000);
}

/**
 * Resolves when `settled` does, or after `limit` milliseconds, having called `onSilence`. No client bounds
 * every call by itself: one that was written to a server that hangs stays pending.
 */
export function withinLimit(
  clock: Clock,
  limit: number,
  settled: Promise<void>,
  onSilence: (error: NoReplyError) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const onTimer = (): void => {
      onSilence(new NoReplyError(limit));
      resolve();
    };
    const timer = clock.schedule(onTimer, limit, false);
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    void settled.then(end);
  });
}
