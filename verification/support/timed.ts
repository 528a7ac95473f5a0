import { reasonOf } from '../../test/support/rejection.js';

/** How late a timer, a reply or a process may be on a machine that does nothing else. */
export const LATE_MS = 200;

/**
 * Distinguishes an answer at once from an answer when the time of the call is up, 5 s at most.
 */
export const AT_ONCE_MS = 2500;

/** Gives the result of a call, and the milliseconds until it settled; rejects as the call does. */
export async function timed<T>(body: () => Promise<T>): Promise<{ value: T; took: number }> {
  const began = performance.now();
  const value = await body();
  return { value, took: performance.now() - began };
}

/** Gives the error of a call, and how soon it came. */
export async function timedRejection(call: () => Promise<unknown>) {
  const { value: error, took } = await timed(() => reasonOf(call()));
  return { error, took };
}
