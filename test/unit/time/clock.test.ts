import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { elapsedSince, instant, LONGEST_TIMER, systemClock } from '../../../src/time/clock.js';
import { ManualClock } from '../../../src/time/manual-clock.js';
import { Wakeup } from '../../../src/time/shared-timer.js';
import { moment } from '../../support/moment.js';
import { uncaughtDuring } from '../../support/uncaught.js';

it('the clock of the process follows fake timers, and fires no timer at once that is longer than Node can wait', () => {
  const fake = useFakeTimers();
  const start = instant(systemClock);
  expect(start.wall).to.equal(fake.now);
  const fired: number[] = [];
  for (const delay of [LONGEST_TIMER, 2 ** 31, 2 ** 33, Infinity, 0, -5]) {
    systemClock.schedule(() => fired.push(delay), delay, false);
  }
  systemClock.schedule(() => fired.push(1), 1, true).cancel();
  fake.tick(LONGEST_TIMER - 1);
  expect(fired).to.deep.equal([0, -5]);
  fake.tick(1);
  expect(fired).to.include(LONGEST_TIMER);
  expect(elapsedSince(start, systemClock)).to.equal(LONGEST_TIMER);
});

it('a manual clock moves when it is advanced, and runs timers in the order of their times, with their own timers in between', async () => {
  const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
  expect(new ManualClock().wall()).to.equal(now);
  const clock = new ManualClock(5000);
  const start = instant(clock);
  await moment(5);
  expect([clock.monotonic(), clock.wall()]).to.deep.equal([0, 5000]);
  const ran: string[] = [];
  const note = (what: string) => () => void ran.push(`${what} ${clock.monotonic()}`);
  const delays = { c: 30, a: 10, b: 20, b2: 20, now: -50, late: 31 };
  for (const [what, delay] of Object.entries(delays)) clock.schedule(note(what), delay);
  clock.schedule(() => void Promise.resolve().then(() => clock.schedule(note('inner'), 5)), 10);
  const cancelled = clock.schedule(note('cancelled'), 10);
  for (let times = 0; times < 2; times += 1) cancelled.cancel();
  await clock.advance(30);
  expect(ran.join()).to.equal('now 0,a 10,inner 15,b 20,b2 20,c 30');
  expect([clock.timers, clock.monotonic(), clock.wall()]).to.deep.equal([1, 30, 5030]);
  clock.stepWall(60_000);
  expect(elapsedSince(start, clock), 'the larger of both').to.equal(60_030);
  clock.stepWall(-120_000);
  expect(elapsedSince(start, clock)).to.equal(30);
});

describe('wake-ups', () => {
  it('come up to a quarter of their delay earlier beside another, not otherwise, and ring beside an alarm that throws', async () => {
    const clock = new ManualClock();
    const rang: Record<string, number> = {};
    const wakeup = (name: string) =>
      new Wakeup(clock, true, () => (rang[name] = clock.monotonic()));
    wakeup('exact').wakeBy(80, 0);
    wakeup('in time').wakeAround(106, 0);
    wakeup('too far').wakeAround(107, 0);
    await clock.advance(200);
    expect(rang).to.deep.equal({ exact: 80, 'in time': 80, 'too far': 107 });
    const bug = new Error('bug');
    const throwing = new Wakeup(clock, true, () => {
      throw bug;
    });
    for (const one of [wakeup('before'), throwing, wakeup('after')]) one.wakeBy(205, 200);
    wakeup('later').wakeBy(210, 200);
    expect(await uncaughtDuring(() => clock.advance(10))).to.deep.equal([bug]);
    expect(rang).to.include({ before: 205, after: 205, later: 210 });
  });

  for (const keepsAlive of [true, false]) {
    it(`ring in time beside a fake timer that is gone, once another is set that ${keepsAlive ? 'keeps' : 'does not keep'} the process alive`, async () => {
      // A timer of its kind was set before by the function that is there again in the end.
      const known = new Wakeup(systemClock, keepsAlive, () => undefined);
      known.wakeBy(systemClock.monotonic() + 60_000, systemClock.monotonic());
      known.stop();
      const fake = useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const now = systemClock.monotonic();
      const left = new Promise<void>((resolve) => {
        new Wakeup(systemClock, true, resolve).wakeBy(now + 1, now);
      });
      fake.restore();
      const another = new Wakeup(systemClock, keepsAlive, () => undefined);
      another.wakeBy(now + 60_000, now);
      await left;
      another.stop();
    });
  }
});
