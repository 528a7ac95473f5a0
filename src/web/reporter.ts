import type { Clock } from '../time/clock.js';

/** The default tells of one failure in this time, in milliseconds. */
const SILENCE_MS = 60_000;

/**
 * Tells `onError` of a failure, or `console.error` once a minute at most. It never throws, whatever
 * `onError` does.
 */
export function reporter(
  onError: ((error: unknown) => unknown) | undefined,
  clock: Clock,
): (error: unknown) => void {
  let silentUntil = -Infinity;
  const complain = (error: unknown): void => {
    if (clock.monotonic() < silentUntil) return;
    silentUntil = clock.monotonic() + SILENCE_MS;
    console.error('redsem: the web view failed:', error);
  };
  return (error) => {
    void Promise.resolve(error)
      .then(onError ?? complain)
      .catch(complain);
  };
}
