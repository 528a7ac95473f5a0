import { reasonOf } from '../../test/support/rejection.js';

/** How late a timer, a reply or a process may be on a machine that does nothing else. */
export const LATE_MS = 200;

/**
 * Distinguishes an answer at once from an answer when the time of the call is up, 5 s at most.
 */
export const AT_ONCE_MS = 2500;

export interface Timed<T> {
  readonly value: T;
  /** Milliseconds from just before the call until it settled. */
  readonly took: number;
}

/** Gives the duration and the result of a call; rejects as the call does. */
export async function timed<T>(body: () => Promise<T>): Promise<Timed<T>> {
  const began = performance.now();
  const value = await body();
  return { value, took: performance.now() - began };
}

/** Gives the error of a call, and how soon it came. */
export async function timedRejection(
  call: () => Promise<unknown>,
): Promise<{ readonly error: unknown; readonly took: number }> {
  const { value, took } = await timed(() => reasonOf(call()));
  return { error: value, took };
}
