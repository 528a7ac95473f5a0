import { setTimeout as sleep } from 'node:timers/promises';

import { type Timed, timed } from '../../test/support/lag.js';

/** Milliseconds that tell an answer at once from one that comes when the time of the call is up, 5 s at most. */
export const atOnce = 2500;

/** What a promise rejects with; an error of its own where it resolves. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`it resolved with ${String(value)}`);
}

/** Asks again until the check passes or the time is over; then its last error counts. */
export async function eventually<T>(check: () => T | Promise<T>, patience = 5000): Promise<T> {
  const deadline = performance.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(5);
  }
}

/** With what and how soon a call rejects. */
export async function timedRejection(
  call: () => Promise<unknown>,
): Promise<Timed & { readonly error: unknown }> {
  const { value, took, lag } = await timed(() => rejectionOf(call()));
  return { error: value, took, lag };
}
