import { expect } from 'chai';

/** One permit, from the moment its holder got it to the moment the holder gave it back. */
export interface Interval {
  readonly id: string;
  readonly slot: number;
  readonly token: number;
  /** Nanoseconds of the machine's monotonic clock, which all its processes share. */
  readonly from: number;
  readonly to: number;
}

export function machineTime(): number {
  return Number(process.hrtime.bigint());
}

/** The largest number of intervals that overlap at one moment. */
export function peakOf(intervals: readonly Interval[]): number {
  const steps = intervals.flatMap(({ from, to }) => [
    { at: from, change: 1 },
    { at: to, change: -1 },
  ]);
  // What ends at the very moment at which another begins does not overlap it.
  steps.sort((a, b) => a.at - b.at || a.change - b.change);
  let level = 0;
  let peak = 0;
  for (const { change } of steps) {
    level += change;
    peak = Math.max(peak, level);
  }
  return peak;
}

/** Nobody shares a slot; every token is new and, on each slot, higher than the one before. */
export function expectFencing(intervals: readonly Interval[]): void {
  expect(new Set(intervals.map(({ token }) => token)).size).to.equal(intervals.length);
  const lastOnSlot = new Map<number, Interval>();
  for (const interval of intervals.toSorted((a, b) => a.from - b.from)) {
    const { slot, token, from } = interval;
    const before = lastOnSlot.get(slot);
    lastOnSlot.set(slot, interval);
    if (before === undefined) continue;
    expect(from, `begin of a hold of slot ${slot}`).to.be.at.least(before.to);
    expect(token, `token on slot ${slot}`).to.be.above(before.token);
  }
}
