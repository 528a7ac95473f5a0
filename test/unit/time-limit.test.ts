import { expect } from 'chai';

import { ManualClock } from '../../src/manual-clock.js';
import { callLimit, NoReplyError, settleWithin, withinLimit } from '../../src/time-limit.js';

describe('time limit of a call', () => {
  it('is the ttl, at most 5 s', () => {
    expect([100, 4999, 5000, 30_000, 2 ** 31].map(callLimit)).to.deep.equal([
      100, 4999, 5000, 5000, 5000,
    ]);
  });

  it('says nothing about a call that settled in time, and leaves no timer', async () => {
    const clock = new ManualClock();
    const silences: unknown[] = [];
    await withinLimit(clock, 100, Promise.resolve(), (error) => silences.push(error));
    expect(clock.timers).to.equal(0);
    await clock.advance(1000);
    expect(silences).to.deep.equal([]);
  });

  it('ends the wait for a silent call, once, at its limit', async () => {
    const clock = new ManualClock();
    const silences: [number, unknown][] = [];
    let done = false;
    void withinLimit(clock, 100, new Promise(() => {}), (error) => {
      silences.push([clock.monotonic(), error]);
    }).then(() => (done = true));
    await clock.advance(99);
    expect(done).to.equal(false);
    await clock.advance(1);
    expect(done).to.equal(true);
    await clock.advance(10_000);
    expect(silences).to.have.length(1);
    expect(silences[0]?.[0]).to.equal(100);
    expect(silences[0]?.[1])
      .to.be.instanceOf(NoReplyError)
      .with.property('message', 'no reply within 100 ms');
  });

  it('takes no notice of a reply after the limit', async () => {
    const clock = new ManualClock();
    const silences: unknown[] = [];
    let reply: () => void = () => {};
    const settled = new Promise<void>((resolve) => (reply = resolve));
    const ended = withinLimit(clock, 100, settled, (error) => silences.push(error));
    await clock.advance(100);
    await ended;
    reply();
    await clock.advance(100);
    expect(silences).to.have.length(1);
    expect(clock.timers).to.equal(0);
  });

  it('tells of a reply and of an error, also of one that comes after the limit, and ends the wait once', async () => {
    const clock = new ManualClock();
    const told: unknown[] = [];
    const outcome = {
      onReply: (reply: string) => told.push(reply),
      onError: (error: unknown) => told.push(error instanceof NoReplyError ? 'silence' : error),
      onEnd: () => told.push('end'),
    };
    const refusal = new Error('refused');
    let reply: (text: string) => void = () => {};
    settleWithin(clock, 100, new Promise<string>((resolve) => (reply = resolve)), outcome);
    await clock.advance(100);
    reply('late');
    settleWithin(clock, 100, Promise.reject<string>(refusal), outcome);
    await clock.advance(0);
    expect(told).to.deep.equal(['silence', 'end', 'late', refusal, 'end']);
    expect(clock.timers).to.equal(0);
  });
});
