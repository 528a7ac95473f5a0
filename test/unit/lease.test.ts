import { expect } from 'chai';

import { instant } from '../../src/clock.js';
import type { HandleLostError } from '../../src/errors.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';

describe('lease', () => {
  const TTL = 1000;
  /** 1 % and 2 ms, as documented. */
  const MARGIN = 12;

  let clock: ManualClock;
  let lease: Lease;
  /** What its keeper was told. */
  let ended: string[];

  beforeEach(() => {
    clock = new ManualClock();
    ended = [];
    lease = leaseOf(TTL);
  });

  function leaseOf(span: number, ttl = TTL): Lease {
    const keeper = { onLeaseEnd: ({ state }: Lease) => void ended.push(state.kind) };
    const terms = { name: 'jobs', ttl, clock, keeper };
    return new Lease(
      terms,
      'a.1',
      { slots: [0], fencingToken: 1 },
      { since: instant(clock), span },
    );
  }

  it('is certain for its ttl less the margin for clocks that run apart', async () => {
    expect(lease.remaining)
      .to.be.at.most(TTL - MARGIN)
      .and.at.least(TTL - 2 * MARGIN);
    await clock.advance(TTL - MARGIN);
    expect(lease.remaining).to.equal(0);
  });

  it('of a pushed grant is certain until its claim time only', async () => {
    const claim = leaseOf(2000, 30_000);
    expect(claim.remaining).to.be.at.most(2000 - 22);
    await clock.advance(2000 - 22);
    expect(claim.remaining).to.equal(0);
  });

  it('is over after a stall in which no timer ran', () => {
    clock.stall(TTL - 1);
    expect(lease.remaining).to.equal(0);
    expect(lease.state.kind).to.equal('held');
  });

  it('is over after the machine was suspended, which only the wall clock shows', () => {
    clock.stepWall(TTL);
    expect(lease.remaining).to.equal(0);
  });

  it('is not prolonged by a wall clock that is set back', async () => {
    clock.stepWall(-3_600_000);
    await clock.advance(600);
    expect(lease.remaining).to.be.at.most(400 - MARGIN);
    await clock.advance(400);
    expect(lease.remaining).to.equal(0);
  });

  it('loses some certainty, but not the wrong way, when the wall clock is set forward a little', () => {
    clock.stepWall(300);
    expect(lease.remaining).to.be.at.most(700).and.above(0);
  });

  it('is certain anew from the moment at which a confirmed extension was sent', async () => {
    await clock.advance(500);
    const sent = instant(clock);
    await clock.advance(200);
    lease.confirm(sent);
    expect(lease.remaining)
      .to.be.at.most(TTL - 200 - MARGIN)
      .and.above(TTL - 200 - 2 * MARGIN);
  });

  it('is never shortened by a confirmation, however late its reply', async () => {
    const early = instant(clock);
    await clock.advance(400);
    lease.confirm(instant(clock));
    const before = lease.remaining;
    lease.confirm(early);
    expect(lease.remaining).to.equal(before);
  });

  it('of a pushed grant is brought to its full ttl by the first confirmation', async () => {
    const claim = leaseOf(2000, 30_000);
    await clock.advance(900);
    claim.confirm(instant(clock));
    expect(claim.remaining).to.be.within(29_000, 30_000);
  });

  it('of a short ttl whose claim time is longer is not shortened by its first confirmation', async () => {
    const claim = leaseOf(2000, 300);
    const before = claim.remaining;
    claim.confirm(instant(clock));
    expect(claim.remaining).to.equal(before);
  });

  it('is not prolonged by a confirmation that was sent before the wall clock jumped', () => {
    const sent = instant(clock);
    clock.stepWall(5000);
    lease.confirm(sent);
    expect(lease.remaining).to.equal(0);
  });

  it('knows for how long it may have been held beyond its ticket', async () => {
    const [gone, revoked, closed] = [leaseOf(TTL), leaseOf(TTL), leaseOf(TTL)];
    await clock.advance(100);
    gone.lose('missing');
    closed.lose('closed');
    await clock.advance(50);
    revoked.lose('revoked');
    expect([lease, gone, revoked].map(({ overrun }) => overrun)).to.deep.equal([0, 50, 0]);
    await clock.advance(TTL - 150 - MARGIN);
    lease.lose('expired');
    // The margin was its time to stop.
    expect(lease.overrun).to.equal(0);
    await clock.advance(MARGIN + 70);
    expect(lease.overrun).to.equal(70);
    expect(gone.overrun).to.equal(TTL + 70 - 100);
    expect(revoked.overrun).to.equal(TTL + 70 - 150);
    expect(closed.overrun).to.equal(0);
  });

  it('that was released late tells so, too', async () => {
    await clock.advance(TTL + 30);
    lease.endByRelease();
    expect(lease.overrun).to.equal(30);
  });

  it('forgets failures when it is confirmed', () => {
    lease.failures = 3;
    lease.lastError = new Error('x');
    lease.confirm(instant(clock));
    expect([lease.failures, lease.lastError]).to.deep.equal([0, undefined]);
  });

  it('is lost once, with the first reason, and tells its observer and listeners once', () => {
    const lost: HandleLostError[] = [];
    lease.observe({ onLost: (error) => lost.push(error), weaken: () => {} });
    const cause = new Error('connection');
    lease.lose('expired', cause);
    lease.lose('missing');
    expect(lease.endByRelease()).to.equal(false);
    expect(lost.map(({ reason }) => reason)).to.deep.equal(['expired']);
    expect(lost[0]?.cause).to.equal(cause);
    expect(ended).to.deep.equal(['lost']);
    expect(lease.remaining).to.equal(0);
    expect(lease.lossError()).to.equal(lost[0]);
  });

  it('tells the semaphore object that acquired it of each extension, and works without one', () => {
    let told = 0;
    lease.confirm(instant(clock));
    lease.holder = { onConfirmed: () => (told += 1), onReleaseFailed: () => {} };
    lease.confirm(instant(clock));
    lease.confirm(instant(clock));
    expect(told).to.equal(2);
  });

  it('that was released is never lost', () => {
    const lost: unknown[] = [];
    lease.observe({ onLost: (error) => lost.push(error), weaken: () => {} });
    expect(lease.endByRelease()).to.equal(true);
    expect(lease.endByRelease()).to.equal(false);
    lease.lose('expired');
    expect([lost, ended]).to.deep.equal([[], ['released']]);
    expect(lease.remaining).to.equal(0);
    expect(lease.lossError().reason).to.equal('closed');
  });

  it('that is found over is lost, with the error that kept it from being extended', () => {
    lease.lastError = new Error('read ECONNRESET');
    clock.stall(TTL);
    expect(lease.look()).to.equal(0);
    expect(lease.lossError()).to.include({ reason: 'expired', cause: lease.lastError });
    expect(ended).to.deep.equal(['lost']);
  });

  it('that is found over tells its observer once, on the next tick', async () => {
    const lost: HandleLostError[] = [];
    lease.observe({ onLost: (error) => lost.push(error), weaken: () => {} });
    clock.stall(TTL);
    for (const looks of [1, 2]) expect(lease.look(), `${looks}`).to.equal(0);
    lease.lose('missing');
    expect(lost).to.deep.equal([]);
    await Promise.resolve().then(() => Promise.resolve());
    await new Promise((resolve) => process.nextTick(resolve));
    expect(lost).to.deep.equal([lease.lossError()]);
    expect(lost[0]).to.include({ reason: 'expired' });
  });

  it('that was found over is not brought back by a wall clock that is set back', () => {
    clock.stepWall(40_000);
    expect(lease.look()).to.equal(0);
    clock.stepWall(-3_600_000);
    expect([lease.look(), lease.remaining, lease.state.kind]).to.deep.equal([0, 0, 'lost']);
  });

  it('tells an observer that is held weakly, and does without one that is gone', () => {
    const lost: unknown[] = [];
    const observer = { onLost: (error: unknown) => void lost.push(error), weaken: () => {} };
    lease.observe(new WeakRef(observer));
    lease.lose('missing');
    expect(lost).to.have.length(1);
    const alone = leaseOf(TTL);
    alone.lose('missing');
    expect(alone.state.kind).to.equal('lost');
  });

  it('asks an observer to be held weakly only while it holds it', () => {
    let asked = 0;
    const observer = { onLost: () => {}, weaken: () => void (asked += 1) };
    lease.weaken(() => {});
    lease.observe(observer);
    lease.weaken(() => {});
    lease.observe(new WeakRef(observer));
    lease.weaken(() => {});
    expect(asked).to.equal(1);
  });
});
