import type { Clock } from '../time/clock.js';

/** The backend took too long. Whether the call was executed, or will be, is unknown. */
export class CallTimeoutError extends Error {
  constructor(limit: number) {
    super(`no reply within ${Math.round(limit)} ms`);
    this.name = 'NoReplyError';
  }
}

/** How long one call may take before it is counted as failed, in milliseconds. */
export function callTimeout(ttl: number): number {
  return Math.min(ttl, 5000);
}

/** What becomes of a call. */
export interface CallOutcome<R> {
  onReply(reply: R): void;
  onError(error: unknown): void;
  /** Its time is over, or it has settled: nobody need wait for it. A reply that comes later is still told of. */
  onEnd(): void;
}

/**
 * Tells what becomes of `call`; after `limit` milliseconds without a word, a `CallTimeoutError`. No client bounds every call by
 * itself: one that was written to a server that hangs stays pending.
 */
export function callWithTimeout<R>(
  clock: Clock,
  limit: number,
  call: Promise<R>,
  outcome: CallOutcome<R>,
): void {
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    timer.cancel();
    outcome.onEnd();
  };
  const onSilence = (): void => onError(new CallTimeoutError(limit));
  const timer = clock.schedule(onSilence, limit, false);
  // Whatever happens, those who wait for the end are not kept.
  const onReply = (reply: R): void => {
    try {
      outcome.onReply(reply);
    } finally {
      end();
    }
  };
  const onError = (error: unknown): void => {
    try {
      outcome.onError(error);
    } finally {
      end();
    }
  };
  void call.then(onReply, onError);
}

/** Resolves when `settled` does, or after `limit` milliseconds, having called `onSilence`. */
export function withinLimit(
  clock: Clock,
  limit: number,
  settled: Promise<void>,
  onSilence: (error: unknown) => void,
): Promise<void> {
  return new Promise((onEnd) => {
    callWithTimeout(clock, limit, settled, { onReply: () => undefined, onError: onSilence, onEnd });
  });
}
