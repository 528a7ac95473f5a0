import { expect } from 'chai';
import { useFakeTimers } from 'sinon';

import { elapsedSince, instant, LONGEST_TIMER, systemClock } from '../../src/clock.js';
import { ManualClock } from '../../src/manual-clock.js';
import { ServerClock } from '../../src/server-clock.js';
import { moment } from '../support/moment.js';

describe('the clock of the process', () => {
  it('keeps the process alive for a timer only when told to', () => {
    const timeouts = (): number =>
      process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length;
    for (const keepAlive of [true, false]) {
      const before = timeouts();
      const timer = systemClock.schedule(() => {}, 1000, keepAlive);
      expect(timeouts() > before).to.equal(keepAlive);
      timer.cancel();
    }
  });

  it('follows fake timers, and fires none at once that is longer than Node can wait', () => {
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
});

describe('a manual clock', () => {
  it('stands still until it is told to advance, from the present or a given time', async () => {
    const { now } = useFakeTimers({ now: 1_700_000_000_000, toFake: ['Date'] });
    expect(new ManualClock().wall()).to.equal(now);
    const clock = new ManualClock(5000);
    await moment(5);
    expect([clock.monotonic(), clock.wall()]).to.deep.equal([0, 5000]);
    const start = instant(clock);
    await clock.advance(250);
    expect([clock.monotonic(), clock.wall()]).to.deep.equal([250, 5250]);
    clock.stepWall(60_000);
    expect(elapsedSince(start, clock), 'the larger of both').to.equal(60_250);
    clock.stepWall(-120_000);
    expect(elapsedSince(start, clock)).to.equal(250);
  });

  it('runs timers in the order of their times, each at its time, and what they set off in between', async () => {
    const clock = new ManualClock();
    const ran: [string, number][] = [];
    const note = (what: string) => () => void ran.push([what, clock.monotonic()]);
    for (const [what, delay] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
      ['b2', 20],
      ['now', -50],
      ['late', 31],
    ] as const) {
      clock.schedule(note(what), delay);
    }
    clock.schedule(() => void Promise.resolve().then(() => clock.schedule(note('inner'), 5)), 10);
    const cancelled = clock.schedule(note('cancelled'), 10);
    cancelled.cancel();
    cancelled.cancel();
    expect(ran).to.deep.equal([]);
    await clock.advance(30);
    expect(ran.map(([what, at]) => `${what} ${at}`)).to.deep.equal([
      'now 0',
      'a 10',
      'inner 15',
      'b 20',
      'b2 20',
      'c 30',
    ]);
    expect(clock.timers).to.equal(1);
  });

  it('settles promises though no time passes, and runs timers late after a stall', async () => {
    const clock = new ManualClock();
    let steps = 0;
    void (async () => {
      for (; steps < 20; steps++) await Promise.resolve();
    })();
    await clock.advance(0);
    expect(steps).to.equal(20);
    const ran: number[] = [];
    clock.schedule(() => ran.push(clock.monotonic()), 10);
    clock.stall(100);
    expect(ran).to.deep.equal([]);
    await clock.advance(0);
    expect(ran).to.deep.equal([100]);
  });
});

describe("what is known of the server's clock", () => {
  const TIME = 77_000_000;

  /** A server whose clock is far from ours; its reply takes `there` + `back` ms. */
  async function observed(there: number, back: number) {
    const clock = new ManualClock(1_000_000);
    const server = new ServerClock(clock);
    const sent = instant(clock);
    await clock.advance(there + back);
    server.observe(sent, TIME);
    /** What the server's clock shows now. */
    const truth = (): number => TIME + clock.monotonic() - sent.monotonic - there;
    return { clock, server, sent, truth };
  }

  for (const [there, back] of [
    [0, 0],
    [50, 0],
    [0, 50],
    [1000, 2000],
  ] as const) {
    it(`is never too early, and hardly too late, after ${there} ms there and ${back} ms back`, async () => {
      const { clock, server, sent, truth } = await observed(there, back);
      // By local time the ticket expires 2000 ms after the server read its clock.
      const { since, span } = server.certaintyUntil(TIME + 2000, 2000) ?? {
        since: sent,
        span: NaN,
      };
      expect(since).to.deep.equal(sent);
      expect(span).to.be.at.most(there + 2000);
      for (const pause of [0, 10, 60_000]) {
        await clock.advance(pause);
        const latest = server.latestIn(500);
        expect(latest).to.be.within(truth() + 500, truth() + 500 + there + back + 20);
        expect(server.delayUntil(truth() + 3000)).to.be.within(3000, 3000 + back + 5);
        expect(server.delayUntil(truth() - 100)).to.be.below(back);
      }
      const before = server.latestIn(0) ?? NaN;
      // This machine was suspended: monotonic time stood still.
      clock.stepWall(60_000);
      expect(server.latestIn(0)).to.be.at.least(before + 60_000);
    });
  }

  it('is nothing before the first reply, and no reason to be certain of more than a whole life', async () => {
    const { clock, server } = await observed(5, 5);
    const fresh = new ServerClock(clock);
    expect([fresh.latestIn(1), fresh.certaintyUntil(5, 1)]).to.deep.equal([undefined, undefined]);
    expect(fresh.delayUntil(5)).to.equal(0);
    await clock.advance(300);
    // The server's clock was set forward by an hour since it was last seen.
    const certainty = server.certaintyUntil(TIME + 3_600_000, 2000);
    const end = (certainty?.since.monotonic ?? Infinity) + (certainty?.span ?? Infinity);
    expect(end).to.be.at.most(clock.monotonic() + 2000);
  });
});
