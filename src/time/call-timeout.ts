import type { Clock } from '../time/clock.js';

/** The backend took too long. Whether the call was executed, or will be, is unknown. */
export class CallTimeoutError extends Error {
  /** How long there was no reply, in milliseconds. */
  readonly silentMs: number;

  constructor(silentMs: number) {
    super(`no reply within ${Math.round(silentMs)} ms`);
    this.name = 'CallTimeoutError';
    this.silentMs = silentMs;
  }
}

/**
 * Settles as `call` does, or rejects with a `CallTimeoutError` after `timeoutMs` milliseconds. No
 * client bounds every call by itself: a call to a server that hangs stays pending.
 */
export function withTimeout<R>(
  clock: Clock,
  timeoutMs: number,
  call: Promise<R>,
  keepAlive = false,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const onTimeout = (): void => reject(new CallTimeoutError(timeoutMs));
    const timer = clock.schedule(onTimeout, timeoutMs, keepAlive);
    void call.then(resolve, reject).then(() => timer.cancel());
  });
}

/**
 * Resolves with `work`, or after `ms` milliseconds. It keeps the process alive: what awaits it must
 * get to what follows.
 */
export async function awaitAtMost(clock: Clock, ms: number, work: Promise<void>): Promise<void> {
  await withTimeout(clock, ms, work, true).catch(() => undefined);
}
