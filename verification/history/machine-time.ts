/**
 * Milliseconds of the machine's monotonic clock, to the microsecond; the same in all its processes.
 */
export function machineTime(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
