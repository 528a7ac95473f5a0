import { expect } from 'chai';

import { instant } from '../../src/clock.js';
import { Heartbeat } from '../../src/heartbeat.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';

describe('heartbeat', () => {
  const TTL = 3000;
  const EVERY = 1000;

  let clock: ManualClock;
  let heartbeat: Heartbeat;
  /** When which ticket was sent to be extended. */
  let sent: [number, string][];
  let onExtend: (lease: Lease) => void;
  let lost: [number, string, string, unknown][];

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    lost = [];
    onExtend = confirm;
    heartbeat = beat(EVERY);
  });

  function beat(extendEvery: number): Heartbeat {
    return new Heartbeat({
      clock,
      extendEvery,
      extend: (lease) => {
        sent.push([clock.monotonic(), lease.id]);
        lease.extending = true;
        onExtend(lease);
      },
    });
  }

  function confirm(lease: Lease): void {
    lease.extending = false;
    lease.confirm(instant(clock));
    heartbeat.confirmed(lease, clock.monotonic());
  }

  function fail(lease: Lease, error: Error, delay: number): void {
    lease.extending = false;
    heartbeat.failed(lease, error, delay);
  }

  function add(id: string, dueIn = EVERY): Lease {
    const keeper = { onLeaseEnd: (ended: Lease) => heartbeat.remove(ended) };
    const terms = { name: 'jobs', ttl: TTL, clock, keeper };
    const certainty = { since: instant(clock), span: TTL };
    const lease = new Lease(terms, id, { slots: [0], fencingToken: 1 }, certainty);
    lease.observe({
      onLost: ({ reason, cause }) => lost.push([clock.monotonic(), id, reason, cause]),
      weaken: () => {},
    });
    const now = clock.monotonic();
    heartbeat.add(lease, now + dueIn, now + lease.remaining, now);
    return lease;
  }

  it('extends a ticket once in each period, for as long as it is held', async () => {
    const lease = add('a');
    await clock.advance(10_500);
    expect(sent.map(([at]) => at)).to.deep.equal([
      1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000,
    ]);
    expect(lease.remaining).to.be.above(2000);
    expect(lost).to.deep.equal([]);
  });

  it('has one timer for any number of tickets, and none without tickets', async () => {
    expect(clock.timers).to.equal(0);
    const leases = Array.from({ length: 50 }, (_, i) => add(`t${i}`, 10 * (i + 1)));
    expect(clock.timers).to.equal(1);
    await clock.advance(5000);
    expect(clock.timers).to.equal(1);
    for (const lease of leases.slice(1)) lease.endByRelease();
    expect(clock.timers).to.equal(1);
    leases[0]?.endByRelease();
    expect(clock.timers).to.equal(0);
    await clock.advance(60_000);
    expect(lost).to.deep.equal([]);
  });

  it('brings tickets that were taken at different times into one rhythm', async () => {
    for (let i = 0; i < 20; i++) {
      add(`t${i}`);
      await clock.advance(45);
    }
    await clock.advance(20_000);
    const rounds = new Set(sent.filter(([at]) => at > 10_000 && at <= 20_000).map(([at]) => at));
    expect(rounds.size).to.be.at.most(11);
    const late = sent.filter(([at]) => at > 10_000 && at <= 20_000).length;
    expect(late).to.be.within(20 * 9, 20 * 11);
  });

  it('takes those along that are soon due, and not those that are fresh', async () => {
    for (const id of ['due', 'soon', 'fresh']) {
      add(id);
      await clock.advance(450);
    }
    expect(sent).to.deep.equal([
      [1000, 'due'],
      [1000, 'soon'],
    ]);
  });

  it('does not send a ticket again while its extension is under way', async () => {
    onExtend = (lease) => {
      if (lease.id !== 'silent') confirm(lease);
    };
    add('silent');
    // This one makes the heart beat meanwhile.
    add('other');
    await clock.advance(2500);
    expect(sent.filter(([, id]) => id === 'silent')).to.deep.equal([[1000, 'silent']]);
    expect(sent.length).to.be.above(2);
  });

  it('tries again inside the lease after a failure, and goes on as before once that works', async () => {
    let failures = 0;
    onExtend = (lease) => {
      failures += 1;
      if (failures <= 3) fail(lease, new Error('connection'), 50);
      else confirm(lease);
    };
    const lease = add('a');
    await clock.advance(3200);
    expect(sent.map(([at]) => at)).to.deep.equal([1000, 1050, 1100, 1150, 2150, 3150]);
    expect(lease.failures).to.equal(0);
    expect(lost).to.deep.equal([]);
  });

  it('tells of a loss exactly when certainty ends: not before, not after', async () => {
    const error = new Error('connect ECONNREFUSED');
    onExtend = (lease) => fail(lease, error, 200);
    const lease = add('a');
    const end = Math.ceil(lease.remaining);
    await clock.advance(end - 1);
    expect(lost).to.deep.equal([]);
    expect(lease.remaining).to.be.above(0);
    await clock.advance(1);
    expect(lost).to.deep.equal([[end, 'a', 'expired', error]]);
    expect(end).to.be.at.most(TTL - 32);
    expect(clock.timers).to.equal(0);
  });

  it('tells of a loss at the same time while an extension hangs', async () => {
    onExtend = () => {};
    const lease = add('a');
    const end = Math.ceil(lease.remaining);
    await clock.advance(end);
    expect(lost).to.deep.equal([[end, 'a', 'expired', undefined]]);
  });

  it('tells of a loss at the first moment after a stall, without another extension', async () => {
    add('a');
    clock.stall(TTL);
    await clock.advance(0);
    expect(lost).to.deep.equal([[TTL, 'a', 'expired', undefined]]);
    expect(sent).to.deep.equal([]);
  });

  it('extends at once after a stall that the lease survived', async () => {
    add('a');
    clock.stall(2500);
    await clock.advance(0);
    expect(sent).to.deep.equal([[2500, 'a']]);
    expect(lost).to.deep.equal([]);
  });

  it('tells of each lost ticket once when many run out together, and keeps the others', async () => {
    onExtend = (lease) => {
      if (lease.id.startsWith('good')) confirm(lease);
    };
    for (let i = 0; i < 10; i++) add(i % 2 === 0 ? `good${i}` : `bad${i}`);
    await clock.advance(10_000);
    expect(lost.map(([, id]) => id)).to.have.members(['bad1', 'bad3', 'bad5', 'bad7', 'bad9']);
  });

  it('watches without extending when extendEvery is 0', async () => {
    heartbeat = beat(0);
    const lease = add('a', Infinity);
    const end = Math.ceil(lease.remaining);
    await clock.advance(10_000);
    expect(sent).to.deep.equal([]);
    expect(lost.map(([at]) => at)).to.deep.equal([end]);
    expect(clock.timers).to.equal(0);
  });

  it('goes on watching after an extension that was asked for with extendEvery 0', async () => {
    heartbeat = beat(0);
    const lease = add('a', Infinity);
    await clock.advance(2000);
    confirm(lease);
    await clock.advance(2000);
    expect(lost).to.deep.equal([]);
    await clock.advance(1000);
    expect(lost).to.have.length(1);
  });

  it('extends a pushed grant inside its claim time', async () => {
    add('a', 600);
    await clock.advance(600);
    expect(sent).to.deep.equal([[600, 'a']]);
  });

  it('wakes for a ticket that is due before those it has', async () => {
    add('slow', 1000);
    add('quick', 100);
    await clock.advance(100);
    expect(sent.map(([, id]) => id)).to.include('quick');
  });

  it('takes no notice of a failure of a ticket that it no longer has', async () => {
    const lease = add('a');
    lease.endByRelease();
    heartbeat.failed(lease, new Error('late'), 10);
    heartbeat.confirmed(lease, clock.monotonic());
    expect(clock.timers).to.equal(0);
    await clock.advance(5000);
    expect(sent).to.deep.equal([]);
  });

  it('survives tickets that are released while it beats', async () => {
    const leases: Lease[] = [];
    onExtend = (lease) => {
      confirm(lease);
      for (const other of leases) if (other !== lease) other.endByRelease();
    };
    for (let i = 0; i < 5; i++) leases.push(add(`t${i}`));
    await clock.advance(5000);
    expect(lost).to.deep.equal([]);
    expect(clock.timers).to.equal(1);
  });
});
