import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { ManualClock } from '../../src/manual-clock.js';
import { moment } from '../support/moment.js';

describe('manual clock', () => {
  it('stands still until it is told to advance', async () => {
    const clock = new ManualClock(5000);
    await moment(5);
    expect([clock.monotonic(), clock.wall()]).to.deep.equal([0, 5000]);
    await clock.advance(250);
    expect([clock.monotonic(), clock.wall()]).to.deep.equal([250, 5250]);
  });

  it('starts at the present time unless told otherwise', () => {
    const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    expect(new ManualClock().wall()).to.equal(now);
  });

  it('runs timers in the order of their times, each at its time, those of one time as they were set', async () => {
    const clock = new ManualClock();
    const ran: [string, number][] = [];
    for (const [what, delay] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
      ['b2', 20],
      ['late', 31],
    ] as const) {
      clock.schedule(() => ran.push([what, clock.monotonic()]), delay);
    }
    await clock.advance(30);
    expect(ran).to.deep.equal([
      ['a', 10],
      ['b', 20],
      ['b2', 20],
      ['c', 30],
    ]);
    expect(clock.timers).to.equal(1);
  });

  it('runs what timers set off before the next timer', async () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    clock.schedule(() => {
      ran.push('first');
      void Promise.resolve().then(() => clock.schedule(() => ran.push('inner'), 5));
    }, 10);
    clock.schedule(() => ran.push('last'), 20);
    await clock.advance(20);
    expect(ran).to.deep.equal(['first', 'inner', 'last']);
  });

  it('settles promises and ticks that are under way even when no time passes', async () => {
    const clock = new ManualClock();
    let steps = 0;
    void (async () => {
      for (; steps < 20; steps++) await Promise.resolve();
    })();
    await clock.advance(0);
    expect(steps).to.equal(20);
  });

  it('cancels timers', async () => {
    const clock = new ManualClock();
    let ran = 0;
    const timer = clock.schedule(() => (ran += 1), 10);
    timer.cancel();
    timer.cancel();
    await clock.advance(20);
    expect([ran, clock.timers]).to.deep.equal([0, 0]);
  });

  it('runs timers late after a stall, without going back', async () => {
    const clock = new ManualClock();
    const ran: number[] = [];
    clock.schedule(() => ran.push(clock.monotonic()), 10);
    clock.stall(100);
    expect(ran).to.deep.equal([]);
    await clock.advance(0);
    expect(ran).to.deep.equal([100]);
    expect(clock.wall() - clock.monotonic()).to.be.closeTo(new ManualClock().wall(), 60_000);
  });

  it('steps the wall clock alone', async () => {
    const clock = new ManualClock(1000);
    clock.stepWall(-900);
    await clock.advance(50);
    expect([clock.monotonic(), clock.wall()]).to.deep.equal([50, 150]);
  });

  it('takes a timer of negative delay as one of none', async () => {
    const clock = new ManualClock();
    let ran = false;
    clock.schedule(() => (ran = true), -50);
    expect(ran).to.equal(false);
    await clock.advance(0);
    expect(ran).to.equal(true);
  });
});
