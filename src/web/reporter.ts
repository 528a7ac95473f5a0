import type { Clock } from '../time/clock.js';

/** The default writes at most one failure in this time, in milliseconds. */
const SILENCE_MS = 60_000;

/**
 * Gives a failure to `onError`, or to `console.error` once a minute at most. It never throws,
 * whatever `onError` does.
 */
export function reporter(
  onError: ((error: unknown) => unknown) | undefined,
  clock: Clock,
): (error: unknown) => void {
  let silentUntil = -Infinity;
  const complain = (error: unknown): void => {
    if (clock.monotonic() < silentUntil) return;
    silentUntil = clock.monotonic() + SILENCE_MS;
    // oxlint-disable-next-line no-console -- the default of an option, as its docs say
    console.error('redsem: the web view failed:', error);
  };
  const tell = async (error: unknown): Promise<void> => {
    try {
      await (onError ?? complain)(error);
    } catch (failure) {
      complain(failure);
    }
  };
  return (error) => void tell(error);
}
