/** How late a timer, a reply or a process may be on a machine that does nothing else. */
export const LATE_MS = 200;

/** Gives the result of a call, and the milliseconds until it settled; rejects as the call does. */
export async function timed<T>(body: () => Promise<T>): Promise<{ value: T; took: number }> {
  const began = performance.now();
  const value = await body();
  return { value, took: performance.now() - began };
}
