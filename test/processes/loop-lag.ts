import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Runs `body` and tells, in milliseconds, how long it took and the longest that the event loop was held up. */
export async function timed<T>(
  body: () => Promise<T>,
): Promise<{ value: T; took: number; lag: number }> {
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();
  const started = performance.now();
  try {
    const value = await body();
    const took = performance.now() - started;
    return { value, took, lag: delays.max / 1e6 };
  } finally {
    delays.disable();
  }
}
