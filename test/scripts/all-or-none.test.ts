import { expect } from 'chai';

import type { AcquireCall, PushedGrant } from '../../src/backends/backend.js';
import { keysOf } from '../../src/backends/redis/keys.js';
import { eventually } from '../support/eventually.js';
import type { PortFixture } from './port-fixture.js';
import { describeOnBoth, granted, ids, kinds, RedisFixture, request } from './port-fixture.js';

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

  it('serve the queue by messages alone, also requests of the caller', async () => {
    for (const waiters of [['a.1'], ['b.1'], ['b.1', 'a.1'], ['a.1', 'b.1']]) {
      const one = make({ limit: 2 });
      const pushed: string[] = [];
      for (const client of ['a', 'b']) {
        const onGrants = (all: readonly PushedGrant[]) => pushed.push(...all.map(({ id }) => id));
        if (one instanceof RedisFixture) await one.subscribe(client, { onGrants });
        else one.listen(client, { onGrants, onHealth: () => {} });
      }
      await one.acquire(ids('dead', 2), { ttl: 1000 });
      for (const id of waiters) expect(kinds(await one.acquire(id))).to.deep.equal(['queued']);
      one.pass(1000);
      const reply = await one.acquireTogether('b.2');
      const own = reply === undefined ? [] : ['b.2'];
      expect(own).to.have.length(2 - waiters.length);
      expect(reply?.grants ?? []).to.deep.equal([]);
      expect(await one.holders()).to.deep.equal([...waiters, ...own]);
      expect(await one.queue()).to.deep.equal([]);
      await eventually(() => expect(pushed).to.have.members(waiters));
    }
  });

  it('grant a waiter before a semaphore that is not free', async () => {
    const { one, calls, acquire10, others } = severalOf();
    one.limit = 1;
    await one.backend.acquire(others(1, 2));
    one.key = calls[0]?.key ?? one.key;
    await one.take('dead.1', { ttl: 1000 });
    await one.acquire('a.1');
    one.pass(1000);
    expect(await acquire10()).to.equal(undefined);
    expect(await one.holders()).to.deep.equal(['a.1']);
  });
});
