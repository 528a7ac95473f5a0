import { expect } from 'chai';

import type { AcquireCall, AcquireReply } from '../../src/backends/backend.js';
import { keysOf } from '../../src/backends/redis/keys.js';
import type { PortFixture } from './port-fixture.js';
import { describeOnBoth, granted, ids, kinds, RedisFixture, request } from './port-fixture.js';

const HOUR = 3_600_000;

let starts = 0;

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
    const acquire10 = (change: Partial<AcquireCall> = {}) =>
      one.backend.acquireTogether?.(calls.map((call) => ({ ...call, ...change })));
    /** All that is there: every key as it is in Redis, byte by byte. */
    const state = (): Promise<unknown[]> => {
      if (!(one instanceof RedisFixture))
        return Promise.all(calls.map((call) => one.backend.inspect(call)));
      const keys = calls.flatMap(({ key }) => keysOf(key));
      return Promise.all(keys.map((key) => one.redis.dumpBuffer(key)));
    };
    return { one, calls, acquire10, state };
  }

  it('take one call if all are free, and are the same if it runs twice', async () => {
    for (const limit of [1, 2]) {
      const { one, acquire10, state } = severalOf(limit);
      await one.take('w.1');
      const before = one instanceof RedisFixture ? one.replies.length : 0;
      const first = await acquire10();
      if (one instanceof RedisFixture) expect(one.replies.length - before).to.equal(1);
      const tickets = first?.map(({ verdicts: [verdict] }) => granted(verdict));
      expect(tickets).to.have.length(10);
      const held = await state();
      const again = await acquire10();
      expect(again?.map(({ verdicts: [verdict] }) => granted(verdict))).to.deep.equal(tickets);
      if (!(one instanceof RedisFixture)) expect(await state()).to.deep.equal(held);
    }
  });

  it('take the next slot of a semaphore that has a holder', async () => {
    const { one, calls, acquire10 } = severalOf(2);
    const held = calls.slice(3, 4).map((call) => ({ ...call, requests: [request('other.1')] }));
    await one.backend.acquire(held);
    one.pass(1);
    const slots = (await acquire10())?.flatMap(({ verdicts: [verdict] }) => granted(verdict).slots);
    expect(slots).to.deep.equal([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  });

  for (const busy of [0, 4, 9]) {
    it(`write nothing where number ${busy} is held`, async () => {
      const { one, calls, acquire10, state } = severalOf();
      const held = calls.slice(busy, busy + 1);
      // Some were used before, the others never.
      const used = calls.slice((busy + 1) % 10, ((busy + 1) % 10) + 1);
      const others = [...held, ...used].map((call) => ({
        ...call,
        requests: [request('other.1')],
      }));
      await one.backend.acquire(others);
      await one.backend.release(used.map((call) => ({ ...call, ids: ['other.1'] })));
      const before = await state();
      expect(await acquire10()).to.equal(undefined);
      expect(await state()).to.deep.equal(before);
    });
  }

  /** What keeps a semaphore from the usual case though it has a permit for all that ask. */
  const unusual: Record<string, (one: PortFixture) => Promise<unknown> | void> = {
    'they were used in another period of 2.8 hours': (one) => one.pass(4 * HOUR),
    'their holder has died': (one) => one.expire('other.1'),
    'their holder was dropped by an operator': (one) => one.revoke('other.1'),
    'they were paused': async (one) => {
      await one.release('other.1');
      await one.setLimit(0);
      await one.setLimit(1);
    },
    'they have a rate that allows one': async (one) => {
      await one.release('other.1');
      await one.setRate({ permits: 1, per: 1000, burst: 1 });
      one.pass(1000);
    },
    'more have expired than one call drops, and the limit has shrunk': async (one) => {
      await one.setLimit(500);
      await one.acquire(ids('dead', 500));
      await one.setLimit(1);
      one.pass(30_000);
    },
    'a client that died waits': async (one) => {
      await one.acquire('dead.1');
      one.pass(6000);
      await one.release('other.1');
      await one.expire('dead.1');
    },
  };
  for (const [why, bring] of Object.entries(unusual)) {
    it(`take one call where ${why}`, async () => {
      const { one, calls, acquire10 } = severalOf();
      for (const { key } of calls.filter((_, i) => i % 2 === 0)) {
        one.key = key;
        await one.take('other.1');
        await bring(one);
      }
      const before = one instanceof RedisFixture ? one.replies.length : 0;
      const all = await acquire10();
      expect(all?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
      if (one instanceof RedisFixture) expect(one.replies.length - before).to.equal(1);
      for (const { key } of calls) {
        one.key = key;
        expect(await one.holders()).to.have.length(1);
      }
    });
  }

  it('do not pass a request that waits for more permits of their group', async () => {
    const one = make({ limit: 5 });
    const capped = { groupLimit: 2 };
    await one.take('a.1', capped);
    expect(kinds(await one.acquire('b.1.2', capped))).to.deep.equal(['queued']);
    expect(await one.acquireTogether('c.1')).to.equal(undefined);
    await one.release('b.1.2');
    expect(kinds((await one.acquireTogether('c.1')) as AcquireReply)).to.deep.equal(['granted']);
  });

  it('take one call if a ticket lives longer than usual', async () => {
    const { acquire10 } = severalOf();
    const all = await acquire10({ ttl: 7 * HOUR });
    expect(all?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
  });

  it('are refused together once it is past their time', async () => {
    const { one, acquire10, state } = severalOf();
    const before = await state();
    const all = await acquire10({ notAfter: one.time.now - 1 });
    expect(all?.flatMap(kinds)).to.deep.equal(Array(10).fill('late'));
    expect(await state()).to.deep.equal(before);
    const inTime = await acquire10({ notAfter: one.time.now + 1 });
    expect(inTime?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
  });
});
