import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { elapsedSince, instant, LONGEST_TIMER, systemClock } from '../../src/clock.js';
import { ManualClock } from '../../src/manual-clock.js';

describe('clock', () => {
  it('counts the larger of what the two local clocks say', async () => {
    const clock = new ManualClock(50_000);
    const start = instant(clock);
    await clock.advance(100);
    expect(elapsedSince(start, clock)).to.equal(100);
    clock.stepWall(60_000);
    expect(elapsedSince(start, clock)).to.equal(60_100);
    clock.stepWall(-120_000);
    expect(elapsedSince(start, clock)).to.equal(100);
  });

  it('keeps the process alive for a timer only when told to', () => {
    const hasRef = (keepAlive: boolean): boolean => {
      const before = process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length;
      const timer = systemClock.schedule(() => {}, 1000, keepAlive);
      const after = process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length;
      timer.cancel();
      return after > before;
    };
    expect(hasRef(true)).to.equal(true);
    expect(hasRef(false)).to.equal(false);
  });

  it('does not fire a timer at once that is longer than Node can wait', () => {
    const fake = useFakeTimers();
    let fired = 0;
    for (const delay of [2 ** 31, 2 ** 33, Infinity]) {
      systemClock.schedule(() => (fired += 1), delay, false);
    }
    fake.tick(LONGEST_TIMER - 1);
    expect(fired).to.equal(0);
  });

  it('runs a timer of no or negative delay soon', async () => {
    for (const delay of [0, -5]) {
      await new Promise<void>((resolve) => void systemClock.schedule(resolve, delay, true));
    }
  });

  it('can be cancelled before and after it fired', async () => {
    let fired = 0;
    const cancelled = systemClock.schedule(() => (fired += 1), 1, true);
    cancelled.cancel();
    let timer: { cancel(): void } | undefined;
    await new Promise<void>((resolve) => (timer = systemClock.schedule(resolve, 2, true)));
    timer?.cancel();
    expect(fired).to.equal(0);
  });

  it('follows fake timers', () => {
    const fake = useFakeTimers();
    let fired = false;
    const start = instant(systemClock);
    expect(start.wall).to.equal(fake.now);
    systemClock.schedule(() => (fired = true), LONGEST_TIMER, true);
    fake.tick(LONGEST_TIMER);
    expect(fired).to.equal(true);
    expect(elapsedSince(start, systemClock)).to.equal(LONGEST_TIMER);
  });
});
