import { reasonOf } from '../../test/support/rejection.js';

/** How late a timer, a reply or a process may be on a machine that does nothing else. */
export const LATE_MS = 200;

/**
 * Distinguishes an answer at once from one that comes when the time of the call is up, 5 s at most.
 */
export const AT_ONCE_MS = 2500;

export interface Timed<T> {
  readonly value: T;
  /** Milliseconds from just before the call until it settled. */
  readonly took: number;
}

/** How long a call takes, and what it resolves with; rejects as it does. */
export async function timed<T>(body: () => Promise<T>): Promise<Timed<T>> {
  const began = performance.now();
  const value = await body();
  return { value, took: performance.now() - began };
}

/** With what and how soon a call rejects. */
export async function timedRejection(
  call: () => Promise<unknown>,
): Promise<{ readonly error: unknown; readonly took: number }> {
  const { value, took } = await timed(() => reasonOf(call()));
  return { error: value, took };
}
