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

/**
 * The largest number of intervals that overlap at one moment: what ends when another begins does
 * not overlap it.
 */
export function peakOf(intervals: readonly Interval[]): number {
  const levels = intervals.map(
    ({ from: at }) => intervals.filter(({ from, to }) => from <= at && at < to).length,
  );
  return Math.max(...levels);
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
