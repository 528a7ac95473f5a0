import { expect } from 'chai';

import { instant } from '../../src/clock.js';
import { Heartbeat } from '../../src/heartbeat.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';

describe('heartbeat with one extension that hangs', () => {
  const TTL = 1000;
  /** Its ttl less 1 % and 2 ms. */
  const CERTAIN = 988;

  let clock: ManualClock;
  let heartbeat: Heartbeat;
  let lost: [at: number, id: string][];

  beforeEach(() => {
    clock = new ManualClock();
    lost = [];
    heartbeat = new Heartbeat({
      clock,
      extendEvery: 200,
      extend: (lease) => void (lease.extending = true),
    });
  });

  function add(id: string, dueIn: number): Lease {
    const keeper = { onLeaseEnd: (ended: Lease) => heartbeat.remove(ended) };
    const certainty = { since: instant(clock), span: TTL };
    const ticket = { slots: [0], fencingToken: 1 };
    const lease = new Lease({ name: 'jobs', ttl: TTL, clock, keeper }, id, ticket, certainty);
    lease.observe({ onLost: () => lost.push([clock.monotonic(), id]), weaken: () => {} });
    const now = clock.monotonic();
    heartbeat.add(lease, now + dueIn, now + lease.remaining, now);
    return lease;
  }

  it('tells of that loss in time, though others are due in between and end later', async () => {
    add('hangs', 100);
    await clock.advance(400);
    add('later', 100);
    await clock.advance(2000);
    expect(lost).to.deep.equal([
      [CERTAIN, 'hangs'],
      [400 + CERTAIN, 'later'],
    ]);
  });

  it('counts the failures in a row of each ticket, one by one', () => {
    const [first, second] = [add('first', 100), add('second', 100)];
    for (const expected of [1, 2, 3]) {
      heartbeat.failed(first, new Error('no'), 10);
      expect(first.failures).to.equal(expected);
    }
    expect(second.failures).to.equal(0);
  });

  it('finds the ticket of an id, and no other', () => {
    const [first, second] = [add('first', 100), add('second', 100)];
    expect(heartbeat.find('first')).to.equal(first);
    expect(heartbeat.find('second')).to.equal(second);
    expect(heartbeat.find('third')).to.equal(undefined);
  });

  it('gives each lease exactly its span less 1 % and 2 ms', () => {
    expect(add('a', 100).remaining).to.equal(CERTAIN);
  });
});
