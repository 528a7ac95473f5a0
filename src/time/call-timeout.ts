import type { Clock } from '../time/clock.js';

/** The backend took too long. Whether the call was executed, or will be, is unknown. */
export class CallTimeoutError extends Error {
  /** How long there was no reply, in milliseconds. */
  readonly limit: number;

  constructor(limit: number) {
    super(`no reply within ${Math.round(limit)} ms`);
    this.name = 'CallTimeoutError';
    this.limit = limit;
  }
}

/**
 * Settles as `call` does, or rejects with a `CallTimeoutError` after `limit` milliseconds. No
 * client bounds every call by itself: a call to a server that hangs stays pending.
 */
export function withTimeout<R>(
  clock: Clock,
  limit: number,
  call: Promise<R>,
  keepAlive = false,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const onTimeout = (): void => reject(new CallTimeoutError(limit));
    const timer = clock.schedule(onTimeout, limit, keepAlive);
    void call.then(resolve, reject).then(() => timer.cancel());
  });
}

/**
 * Resolves with `work`, or after `limit` milliseconds. It keeps the process alive: what awaits it
 * must get to what follows.
 */
export async function awaitAtMost(clock: Clock, limit: number, work: Promise<void>): Promise<void> {
  await withTimeout(clock, limit, work, true).catch(() => undefined);
}
