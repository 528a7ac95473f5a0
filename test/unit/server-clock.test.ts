import { expect } from 'chai';

import { instant } from '../../src/clock.js';
import { ManualClock } from '../../src/manual-clock.js';
import { ServerClock } from '../../src/server-clock.js';

describe("what is known of the server's clock", () => {
  /** A server whose clock is far from ours; its reply takes `there` + `back` ms. */
  async function observed(there: number, back: number) {
    const clock = new ManualClock(1_000_000);
    const server = new ServerClock(clock);
    const sent = instant(clock);
    await clock.advance(there);
    const time = 77_000_000;
    await clock.advance(back);
    server.observe(sent, time);
    /** What the server's clock shows now. */
    const truth = (): number => time + clock.monotonic() - sent.monotonic - there;
    return { clock, server, sent, time, truth };
  }

  it('is nothing before the first reply', () => {
    const server = new ServerClock(new ManualClock());
    expect(server.latestIn(1000)).to.equal(undefined);
    expect(server.certaintyUntil(5, Infinity)).to.equal(undefined);
    expect(server.delayUntil(5)).to.equal(0);
  });

  for (const [there, back] of [
    [0, 0],
    [50, 0],
    [0, 50],
    [1000, 2000],
  ] as const) {
    describe(`after a call that took ${there} ms there and ${back} ms back`, () => {
      it('its latest time is never before the true one', async () => {
        const { clock, server, truth } = await observed(there, back);
        for (const pause of [0, 10, 60_000]) {
          await clock.advance(pause);
          expect(server.latestIn(0)).to.be.at.least(truth());
          expect(server.latestIn(500)).to.be.within(
            truth() + 500,
            truth() + 500 + there + back + 20,
          );
        }
      });

      it('the pause until some time is long enough, and hardly longer', async () => {
        const { clock, server, truth } = await observed(there, back);
        for (const pause of [0, 700]) {
          await clock.advance(pause);
          const delay = server.delayUntil(truth() + 3000);
          expect(delay)
            .to.be.at.least(3000)
            .and.at.most(3000 + back + 5);
        }
      });

      it('a lease is never certain for longer than the ticket lives', async () => {
        const { clock, server, sent, time } = await observed(there, back);
        const certainty = server.certaintyUntil(time + 2000, 2000);
        expect(certainty?.since).to.deep.equal(sent);
        const end = (certainty?.since.monotonic ?? Infinity) + (certainty?.span ?? Infinity);
        // By local time the ticket expires 2000 ms after the server read its clock.
        expect(end).to.be.at.most(sent.monotonic + there + 2000);
        expect(clock.monotonic()).to.equal(sent.monotonic + there + back);
      });
    });
  }

  it('a time that has passed asks for no pause', async () => {
    const { clock, server, truth } = await observed(5, 5);
    const past = truth() - 1;
    await clock.advance(100);
    expect(server.delayUntil(past)).to.be.below(0);
  });

  it('its latest time counts a suspension of this machine', async () => {
    const { clock, server } = await observed(0, 0);
    const before = server.latestIn(0) ?? NaN;
    // Monotonic time stood still meanwhile.
    clock.stepWall(60_000);
    expect(server.latestIn(0)).to.be.at.least(before + 60_000);
  });

  it('a lease that was granted just now is certain for no more than its life, whatever the clock says', async () => {
    const { clock, server, time } = await observed(5, 5);
    await clock.advance(300);
    // The server's clock was set forward by an hour since it was last seen.
    const certainty = server.certaintyUntil(time + 3_600_000, 2000);
    const end = (certainty?.since.monotonic ?? Infinity) + (certainty?.span ?? Infinity);
    expect(end).to.be.at.most(clock.monotonic() + 2000);
  });

  it('the latest observation counts', async () => {
    const { clock, server } = await observed(5, 5);
    server.observe(instant(clock), 5);
    expect(server.certaintyUntil(105, Infinity)?.span).to.equal(100);
    expect(server.latestIn(0)).to.be.within(5, 30);
  });
});
