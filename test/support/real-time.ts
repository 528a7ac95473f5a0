/** Counts from now on, in milliseconds: to allow for time that has passed, never to judge it. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

/** The wall clock of the machine: a server of the tests reads the same. */
export function wallTime(): number {
  return Date.now();
}
