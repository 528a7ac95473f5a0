import { expect } from 'chai';

import type { Clock, Timer } from '../../src/clock.js';
import { WakeTimer } from '../../src/wake-timer.js';

interface Scheduled {
  readonly callback: () => void;
  readonly delay: number;
  readonly keepAlive: boolean;
  cancelled: boolean;
}

/** A clock whose timers fire when the test says so, early ones as well. */
class NotingClock implements Clock {
  now = 0;
  readonly scheduled: Scheduled[] = [];

  monotonic(): number {
    return this.now;
  }

  wall(): number {
    return this.now;
  }

  schedule(callback: () => void, delay: number, keepAlive: boolean): Timer {
    const scheduled = { callback, delay, keepAlive, cancelled: false };
    this.scheduled.push(scheduled);
    return { cancel: () => void (scheduled.cancelled = true) };
  }

  get pending(): number[] {
    return this.scheduled.filter(({ cancelled }) => !cancelled).map(({ delay }) => delay);
  }
}

describe('wake timer', () => {
  let clock: NotingClock;
  let wakes: number;

  beforeEach(() => {
    clock = new NotingClock();
    wakes = 0;
  });

  const timerOf = (keepAlive: boolean): WakeTimer =>
    new WakeTimer(clock, keepAlive, () => (wakes += 1));

  it('keeps the process alive or not, as it was told', () => {
    timerOf(true).wakeBy(10, 0);
    timerOf(false).wakeBy(10, 0);
    expect(clock.scheduled.map(({ keepAlive }) => keepAlive)).to.deep.equal([true, false]);
  });

  it('is set anew for an earlier time only, and then once', () => {
    const timer = timerOf(true);
    timer.wakeBy(100, 0);
    timer.wakeBy(100, 0);
    timer.wakeBy(200, 0);
    expect(clock.scheduled).to.have.length(1);
    timer.wakeBy(50, 0);
    expect(clock.pending).to.deep.equal([50]);
  });

  it('does not wake before its time, not even by a part of a millisecond', () => {
    const timer = timerOf(true);
    timer.wakeBy(100.2, 0);
    expect(clock.pending).to.deep.equal([101]);
    clock.now = 100.1;
    clock.scheduled[0]?.callback();
    expect(wakes).to.equal(0);
    expect(clock.scheduled.at(-1)).to.include({ delay: 1, cancelled: false });
    clock.now = 101.2;
    clock.scheduled.at(-1)?.callback();
    expect(wakes).to.equal(1);
  });

  it('wakes no more once stopped, and can be set again for a later time', () => {
    const timer = timerOf(true);
    timer.wakeBy(100, 0);
    timer.stop();
    expect(clock.pending).to.deep.equal([]);
    timer.wakeBy(300, 0);
    expect(clock.pending).to.deep.equal([300]);
  });

  it('can be set by its callback', () => {
    const timer = new WakeTimer(clock, true, () => timer.wakeBy(clock.now + 5, clock.now));
    timer.wakeBy(10, 0);
    clock.now = 10;
    clock.scheduled[0]?.callback();
    expect(clock.scheduled.at(-1)).to.include({ delay: 5, cancelled: false });
  });
});
