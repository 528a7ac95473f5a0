import { expect } from 'chai';

import type { AcquireCall } from '../../src/backends/backend.js';
import { keysOf } from '../../src/backends/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { PortFixture } from './port-fixture.js';
import {
  describeOnBoth,
  granted,
  ids,
  kinds,
  ofGroup,
  RedisFixture,
  request,
} from './port-fixture.js';

const HOUR = 3_600_000;

let starts = 0;

/** What keeps a semaphore from the usual case though it has a permit for each that asks. */
const UNUSUAL: readonly ((one: PortFixture) => Promise<unknown>)[] = [
  (one) => one.revoke('other.1'),
  // More tickets expire than one call drops, and the limit has shrunk.
  async (one) => {
    await one.setLimit(500);
    await one.acquire(ids('dead', 500));
    await one.setLimit(1);
  },
  (one) => one.acquire(['dead.1', 'dead.2', 'dead.3']),
];

describeOnBoth('all tickets or none', (make) => {
  /** Ten semaphores with a request for each. */
  function severalOf(limit = 1) {
    starts += 1;
    const one = make();
    const calls = Array.from({ length: 10 }, (_, i): AcquireCall => {
      const key = { prefix: 'redsem', name: `several-${starts}-${i}` };
      const terms = { client: 'c', limit, ttl: 30_000, label: 'l', notAfter: undefined };
      return { ...terms, key, requests: [request(`c.${i + 1}`, 'try')] };
    });
    /** The grants of one call. */
    const acquire10 = async (change: Partial<AcquireCall> = {}) => {
      const before = one instanceof RedisFixture ? one.replies.length : 0;
      const all = await one.backend.acquireTogether(calls.map((call) => ({ ...call, ...change })));
      if (one instanceof RedisFixture) expect(one.replies.length - before).to.equal(1);
      return all;
    };
    /** All that is there: every key as it is in Redis, byte by byte. */
    const state = (): Promise<unknown[]> => {
      if (!(one instanceof RedisFixture))
        return Promise.all(calls.map((call) => one.backend.inspect(call)));
      const keys = calls.flatMap(({ key }) => keysOf(key));
      return Promise.all(keys.map((key) => one.redis.dumpBuffer(key)));
    };
    const others = (from: number, to: number): AcquireCall[] =>
      calls.slice(from, to).map((call) => ({ ...call, requests: [request('other.1')] }));
    return { one, calls, acquire10, state, others };
  }

  it('take one call, the next free slots, and are the same if it runs twice', async () => {
    for (const limit of [1, 2]) {
      const { one, acquire10, others } = severalOf(limit);
      if (limit === 2) await one.backend.acquire(others(3, 4));
      one.pass(1);
      const tickets = (await acquire10())?.map(({ verdicts: [verdict] }) => granted(verdict));
      const slots = tickets?.flatMap((ticket) => ticket.slots);
      expect(slots).to.deep.equal([0, 0, 0, limit - 1, 0, 0, 0, 0, 0, 0]);
      const again = await acquire10();
      expect(again?.map(({ verdicts: [verdict] }) => granted(verdict))).to.deep.equal(tickets);
    }
  });

  it('write nothing where one of ten is held, or where it is past their time', async () => {
    for (const busy of [0, 4, 9]) {
      const { one, acquire10, state, others } = severalOf();
      // Some were used before, the others never.
      const used = others((busy + 1) % 10, ((busy + 1) % 10) + 1);
      await one.backend.acquire([...others(busy, busy + 1), ...used]);
      await one.backend.release(used.map((call) => ({ ...call, ids: ['other.1'] })));
      const before = await state();
      expect(await acquire10()).to.equal(undefined);
      expect(await state()).to.deep.equal(before);
      await one.backend.release(
        others(busy, busy + 1).map((call) => ({ ...call, ids: ['other.1'] })),
      );
      const free = await state();
      const late = await acquire10({ notAfter: one.time.now - 1 });
      expect(late?.flatMap(kinds)).to.deep.equal(Array(10).fill('late'));
      expect(await state()).to.deep.equal(free);
    }
  });

  it('take one call also where some are no usual case, or live longer than usual', async () => {
    const { one, calls, acquire10 } = severalOf();
    for (const [i, bring] of UNUSUAL.entries()) {
      one.key = calls[2 * i]?.key ?? one.key;
      await one.take('other.1');
      await bring(one);
    }
    one.pass(4 * HOUR);
    const all = await acquire10({ ttl: 7 * HOUR, notAfter: one.time.now + 1 });
    expect(all?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
    for (const { key } of calls) {
      one.key = key;
      expect(await one.holders()).to.have.length(1);
    }
  });

  it('notify a client that sleeps for a turn of long ago when a permit of its group is back', async () => {
    const one = make({ limit: 2 });
    const turns: unknown[] = [];
    const reader = { onGrants: () => {}, onTurn: (turn: unknown) => turns.push(turn) };
    if (one instanceof RedisFixture) await one.subscribe('d', reader);
    else one.listen('d', { ...reader, onHealth: () => {} });
    await one.setGroupLimit(1);
    await one.setBudget('tokens', { permits: 1, per: HOUR, burst: 1 });
    const ask = (id: string, group: string, cost = {}, ttl = HOUR) =>
      one.acquire([request(id, 'wait', { order: ofGroup(group), cost })], { ttl });
    await ask('x.1', 'h', { tokens: 1 });
    await ask('x.2', 'g', {}, 1000);
    await one.release('x.1');
    for (const [id, group, cost] of [
      ['d.1', 'h', { tokens: 1 }],
      ['d.2', 'g', {}],
    ] as const)
      expect(kinds(await ask(id, group, cost))).to.deep.equal(['queued']);
    await one.release('d.1');
    // The holder has died.
    one.pass(1000);
    expect(await one.acquireTogether('y.1')).to.equal(undefined);
    await eventually(() => expect(turns).to.deep.include({ id: 'd.2', at: one.time.now }));
  });
});
