import { expect } from 'chai';

import { errorOf } from '../support/rejection.js';
import { describeWithServer } from '../support/require-server.js';
import type { FixtureOptions } from './port-fixture.js';
import { closeFixtures, DAY, ids, kinds, ofGroup, RedisFixture, request } from './port-fixture.js';

type Call = [string, (one: RedisFixture) => Promise<unknown>];

/** A busy semaphore, whose keys may go. */
interface Scene {
  readonly limit: number;
  readonly waiting: readonly string[];
  readonly prepare: (one: RedisFixture) => Promise<void>;
}

function ask(one: RedisFixture, id: string, group: string, priority = 0): Promise<unknown> {
  return one.acquire([request(id, 'wait', { order: ofGroup(group, 1, priority) })]);
}

const SCENES: Readonly<Record<string, Scene>> = {
  'holders with gaps between their slots, and waiters of three flows': {
    limit: 10,
    waiting: ['b.2.4', 'c.1', 'e.1.7', 'e.2.7', 'e.3.9'],
    prepare: async (one) => {
      await one.acquire([...ids('a', 5), 'a.6.3', 'a.7.2']);
      await one.adopt('a.7.2', 'd.7.2');
      await one.release(['a.2', 'a.6.3']);
      await one.acquire(['b.1', 'b.2.4']);
      await one.acquire('c.1');
      for (const id of ['e.1.7', 'e.2.7']) await ask(one, id, 'g');
      await ask(one, 'e.3.9', '', 2);
    },
  },
  'a group at its limit, and a group beside it': {
    limit: 2,
    waiting: ['b.2', 'c.1', 'c.2', 'c.3'],
    prepare: async (one) => {
      await one.setGroupLimit(1);
      for (const id of ['b.1', 'a.3', 'b.2', 'c.1', 'c.2', 'c.3'])
        await ask(one, id, id.slice(0, 1));
    },
  },
  'a request that is parked, because the limit has shrunk': {
    limit: 3,
    waiting: ['w.1.3', 'd.1'],
    prepare: async (one) => {
      await one.acquire(ids('h', 3));
      await ask(one, 'w.1.3', 'a');
      await one.setLimit(2);
      await one.release(ids('h', 3));
      for (const id of ['b.1', 'a.3', 'd.1']) await ask(one, id, 'b');
    },
  },
};

/** Keys of the first scene that go at once, by hand or by eviction. */
const LOSSES: readonly (readonly string[])[] = [
  ['tickets', 'queue'],
  ['info', 'requests'],
  ['queue', 'clients', 'flows:0'],
  ['tickets', 'info'],
  ['tickets', 'info', 'clients'],
];

/** The calls that may find the loss. */
const CALLS: readonly Call[] = [
  ['acquire', (one) => one.acquire('z.1')],
  ['try', (one) => one.acquire([request('z.1.4', 'try')])],
  ['late acquire', (one) => one.acquire('z.1', { notAfter: 1 })],
  ['extend', (one) => one.extend('a.2')],
  ['release', (one) => one.release('a.3')],
  ['release of nothing', (one) => one.release('gone.1')],
];

describeWithServer('keys of a semaphore', (server) => {
  after(closeFixtures);

  const make = (options?: FixtureOptions): RedisFixture => new RedisFixture(server(), options);

  async function expectSound(one: RedisFixture): Promise<void> {
    const { holders, held, limit } = await one.inspect();
    const slots = holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size, 'distinct slots').to.equal(slots.length);
    expect(held).to.equal(slots.length).and.to.be.at.most(limit);
    expect(Math.max(...slots, 0)).to.be.below(limit);
    // The sign that keeps the key has a score that no ticket has.
    const tickets = await one.redis.zcount(one.keyOf('tickets'), 0, '(9000000000000000');
    expect(tickets).to.equal(holders.length);
  }

  /** Holders come and go until each request had its turn: in how many rounds. */
  async function roundsOf(one: RedisFixture, waiting: readonly string[], what: string) {
    const held = await one.holders();
    expect([...held, ...(await one.queue())], what).to.include.members(waiting);
    await one.setLimit(one.limit);
    const rounds: string[][] = [];
    for (let now = held; now.length > 0; now = await one.holders()) {
      rounds.push(now);
      await one.release(now);
    }
    expect(rounds.flat(), what).to.include.members(waiting);
    return rounds.length;
  }

  for (const [title, { limit, prepare, waiting }] of Object.entries(SCENES)) {
    it(`that were lost give no permit twice and lose none, whatever call finds it: ${title}`, async () => {
      const busy = async (): Promise<RedisFixture> => {
        const one = make({ limit });
        await prepare(one);
        return one;
      };
      const single = Object.keys(await (await busy()).lives()).map((part) => [part]);
      const most = await roundsOf(await busy(), waiting, 'nothing lost');
      for (const lost of [...single, ...(limit === 10 ? LOSSES : [])]) {
        for (const [what, call] of CALLS) {
          const one = await busy();
          const before = (await one.inspect()).holders;
          const highest = Math.max(...before.map(({ fencingToken }) => fencingToken));
          const found = `${what} without ${lost.join()}`;
          await one.lose(...lost);
          one.pass(1);
          await call(one);
          await expectSound(one);
          await one.expectSafeExpiry(found);
          const { id = '', slots, fencingToken } = before[0] ?? {};
          const isKept = !lost.includes('tickets') && !lost.includes('info');
          expect((await one.extend(id)).extended, found).to.deep.equal([isKept]);
          const kept = (await one.inspect()).holders.find((holder) => holder.id === id);
          if (isKept) expect(kept).to.deep.include({ slots, fencingToken });
          // Requests are known by their records.
          const isKnown = !lost.includes('requests');
          if (isKnown) expect(await roundsOf(one, waiting, found), found).to.be.at.most(most);
          // All permits can be had again, once each, and with higher tokens.
          await one.setLimit(limit);
          await one.setGroupLimit(undefined);
          one.pass(40_000);
          await one.acquire(ids('y', limit + 2).map((each) => request(each, 'try')));
          await expectSound(one);
          const { held, holders } = await one.inspect();
          expect(held, found).to.equal(limit);
          for (const holder of holders) expect(holder.fencingToken).to.be.above(highest);
          await one.release(holders.map((holder) => holder.id));
          expect(kinds(await one.acquire(`x.1.${limit}`))).to.deep.equal(['granted']);
          await one.release(`x.1.${limit}`);
          // The key of a capped flow whose records were lost goes by its expiry.
          if (isKnown || limit === 10) await one.expectNothingLeft();
        }
      }
    });
  }

  it('find the free slots again, whatever usual call finds their key lost or expired', async () => {
    const grouped = (id: string) => request(id, 'wait', { order: ofGroup('g') });
    const calls: Call[] = [
      ['release of a lower slot', (one) => one.release('a.2')],
      ['release of the highest slot', (one) => one.release('a.5')],
      ['two releases', async (one) => [await one.release('a.2'), await one.release('a.5')]],
      ['release of many', (one) => one.release(['a.2', 'a.5'])],
      ['release that settles', (one) => one.release('a.2', { spent: [{ tokens: 5 }] })],
      ['acquire', (one) => one.take('c.1')],
      ['try', (one) => one.try('c.1')],
      ['acquire of many', (one) => one.acquire(ids('c', 2))],
      ['acquire in a group', (one) => one.acquire([grouped('c.1')])],
      ['all or none', (one) => one.acquireTogether('c.1')],
      ['extend', (one) => one.extend(['a.2', 'a.4'])],
    ];
    const budgets = { tokens: { permits: 100, per: 10 * DAY, burst: 100 } };
    const cost = { tokens: 1 };
    for (const rules of [{}, { groupLimit: 5 }, { budgets }]) {
      for (const [what, call] of calls) {
        const one = make({ limit: 6 });
        const asks = ids('a', 5).map((id) =>
          request(id, 'wait', 'budgets' in rules ? { cost } : {}),
        );
        for (const each of asks) await one.acquire([each], rules);
        for (const id of ['a.3', 'a.1']) await one.release(id);
        await one.lose('slots');
        await call(one);
        await expectSound(one);
        await one.acquire(ids('b', 6).map((id) => request(id, 'try')));
        await expectSound(one);
        expect((await one.inspect()).held, what).to.be.at.least(5);
      }
    }
  });

  it('count the permits of groups again, also where a usual call finds the loss', async () => {
    const one = make();
    const take = (id: string, group: string) =>
      one.acquire([request(id, 'try', { order: ofGroup(group) })], { groupLimit: 1 });
    await take('a.1', 'a');
    await one.lose('groups');
    expect(kinds(await take('b.1', 'b'))).to.deep.equal(['granted']);
    expect(kinds(await take('a.2', 'a'))).to.deep.equal(['busy']);
  });

  it('find the requests of a group at its cap again, behind another group at its cap', async () => {
    const one = make();
    const wait = (id: string, group: string) =>
      one.acquire([request(id, 'wait', { order: ofGroup(group) })], { groupLimit: 1 });
    for (const id of ['c.1', 'c.3']) await wait(id, 'a');
    for (const id of ['c.2', 'c.4']) await wait(id, 'b');
    await one.lose('flow:0:b');
    await one.release('c.2');
    await wait('c.4', 'b');
    expect(await one.holders()).to.deep.equal(['c.1', 'c.4']);
  });

  it('find the requests of a flow that was lost, though its head leaves before its turn', async () => {
    const one = make({ limit: 1 });
    await one.take('h.1');
    for (const id of ['a.1', 'a.2', 'b.1', 'b.2']) await ask(one, id, id.slice(0, 1));
    await one.lose('flow:0:a');
    await one.release('a.1');
    const granted: string[] = [];
    for (let now = ['h.1']; now.length > 0; now = await one.holders()) {
      granted.push(...now);
      await one.release(now);
    }
    expect(granted).to.deep.equal(['h.1', 'a.2', 'b.1', 'b.2']);
  });

  it('keep arrivals and no order of a queue whose state was lost, though its clock was behind', async () => {
    for (const lost of [['info'], ['tickets', 'info']]) {
      const one = make({ limit: 1 });
      await one.take('h.1');
      await one.acquire('a.1');
      // An order that its queue has outlived.
      await ask(one, 'g.1', 'g');
      await one.release('g.1');
      await one.acquire('a.2');
      await one.lose(...lost);
      one.pass(-60_000);
      await one.acquire('n.1');
      expect(await one.queue(), lost.join()).to.deep.equal(['a.2', 'n.1']);
      for (const id of ['a.1', 'a.2', 'n.1']) await one.release(id);
      await one.expectNothingLeft();
    }
  });

  it('expire not before a meter has run out, which may need days', async () => {
    const one = make();
    const slow = { rate: { permits: 10, per: 50 * DAY, burst: 10 } };
    for (const id of ids('a', 3)) await one.acquire(id, slow);
    expect((await one.lives())['info']).to.be.above(15 * DAY);
    await one.lose('tickets');
    await one.extend('a.1');
    expect((await one.lives())['info']).to.be.above(15 * DAY);
    const dear = make();
    const budgets = { tokens: { permits: 100, per: 10 * DAY, burst: 100 } };
    await dear.acquire([request('a.1', 'wait', { cost: { tokens: 1 } })], { budgets });
    await dear.release('a.1', { spent: [{ tokens: 90 }] });
    expect((await dear.lives())['info']).to.be.above(9 * DAY);
    // The key of free slots may go before: a call that misses it makes it again.
    for (const id of ids('b', 2)) await dear.take(id);
    await dear.release('b.1');
    expect((await dear.lives())['slots']).to.be.within(0.9 * DAY, DAY);
    dear.longest = 10 * DAY;
    await dear.expectSafeExpiry('a release of a lower slot');
  });

  it('of another layout are refused by every call, which names both and says what to do, and kept', async () => {
    for (const [layout, part] of [
      ['2', 'meta'],
      ['4', 'info'],
    ] as const) {
      for (const [what, call] of CALLS) {
        const one = make();
        await one.redis.zadd(one.keyOf('tickets'), '9000000000000000', '.', '1', 'b.1');
        await one.redis.hset(one.keyOf(part), 'layout', layout, 'state', 'x');
        const { message } = await errorOf(call(one), Error);
        const refusal = `layout ${layout}, .* has 3: stop its processes .* or use another prefix`;
        expect(message, what).to.match(new RegExp(refusal));
        expect(await one.redis.zcard(one.keyOf('tickets')), what).to.equal(2);
      }
    }
  });

  it('of what a second run must know go by themselves: one for each revoked ticket and change', async () => {
    const one = make();
    await one.take('r.1', { ttl: 1000 });
    await one.revoke('r.1');
    const { limit = 0 } = await one.addPermits(1, 'c.1');
    const lives = await one.lives();
    expect(lives['revoked:r.1']).to.be.within(1, 61_000);
    expect(lives['change:c.1']).to.be.within(1, 120_000);
    one.pass(999);
    expect(await one.revoke('r.1')).to.include({ revoked: true });
    expect(await one.addPermits(1, 'c.1')).to.include({ limit });
    one.pass(60_000);
    expect(await one.revoke('r.1')).to.include({ revoked: false });
    expect(await one.addPermits(1, 'c.1')).to.include({ limit: limit + 1 });
    await one.expectNothingLeft();
    expect(await one.redis.hkeys(one.keyOf('info'))).to.have.members(['state', 'layout']);
  });

  it('are not made by a call that finds nothing, nor by a request for more than there ever were', async () => {
    const one = make();
    await one.extend('a.1');
    await one.release(['a.1', 'a.2']);
    await one.revoke('a.1');
    await one.inspect();
    expect(await one.lives()).to.deep.equal({});
    await one.acquire('a.1.4');
    await one.expectNothingLeft();
    // Nor is a ticket without a record left when its life is over.
    await one.take('a.2');
    await one.redis.hdel(one.keyOf('info'), 'a.2');
    one.pass(one.ttl);
    await one.extend('gone.1');
    await one.expectNothingLeft();
  });

  it('take calls at maxmemory: for lower slots, of a group at its limit, and after an expiry there', async () => {
    const [one, capped] = [make({ limit: 4 }), make({ limit: 4 })];
    for (const id of ids('a', 3)) await one.take(id);
    await capped.take('a.1', { groupLimit: 1 });
    await capped.acquire([request('c.1', 'try', { order: ofGroup('c') })], { ttl: 1000 });
    capped.pass(1000);
    await one.redis.config('SET', 'maxmemory', '1');
    try {
      for (const id of ['a.1', 'a.2']) expect((await one.release(id)).released).to.eql([true]);
      expect((await one.release('a.2')).released).to.eql([false]);
      expect((await one.release('a.3', { limit: 51 })).released).to.eql([true]);
      expect((await capped.extend('a.1')).extended).to.eql([true]);
      expect((await capped.release('a.1')).released).to.eql([true]);
    } finally {
      await one.redis.config('SET', 'maxmemory', '0');
    }
    for (const slot of [0, 1, 2]) expect((await one.take(`b.${slot}`)).slots).to.eql([slot]);
    await capped.take('b.1', { groupLimit: 1 });
  });

  it('lose a thousand expired tickets with each call, whatever call it is', async () => {
    const one = make({ limit: 2000, ttl: 1000 });
    const left = (): Promise<number> =>
      one.redis.zcount(one.keyOf('tickets'), 0, '(9000000000000000');
    for (const [what, call] of CALLS) {
      for (let from = 1; from < 2000; from += 500) await one.acquire(ids('a', 500, from));
      one.pass(1000);
      await call(one);
      expect(await left(), what).to.be.within(999, 1001);
      await call(one);
      expect(await left(), what).to.be.at.most(1);
      await expectSound(one);
      one.pass(1000);
    }
  });
});
