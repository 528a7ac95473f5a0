/**
 * CLOCK_MONOTONIC in milliseconds: the same for all processes of a machine, unlike
 * `performance.now()`.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
