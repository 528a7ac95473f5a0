import { expect } from 'chai';

import type { RequestOrder } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import type { FixtureOptions } from './port-fixture.js';
import { closeFixtures, kinds, RedisFixture, request } from './port-fixture.js';

const GROUP_A: RequestOrder = { group: 'a', weight: 1, priority: 0 };
const GROUP_B: RequestOrder = { group: 'b', weight: 1, priority: 0 };

/** Each was found by an attack on the scripts, and failed before its repair. */
describeWithServer('a semaphore under attack', (server) => {
  after(closeFixtures);

  const make = (options?: FixtureOptions): RedisFixture => new RedisFixture(server(), options);
  const ask = (one: RedisFixture, id: string, order?: RequestOrder) =>
    one.acquire([{ ...request(id), order }]);

  /**
   * Each round releases all tickets, and asks for one more of group b. Gives the granted of `own`.
   */
  async function grantedIn(rounds: number, one: RedisFixture, own: string[]): Promise<string[]> {
    const granted = new Set<string>();
    for (let i = 0; i < rounds; i += 1) {
      await ask(one, `b.${100 + i}`, GROUP_B);
      for (const id of own) if (!granted.has(id)) await ask(one, id, GROUP_A);
      for (const id of await one.holders()) {
        granted.add(id);
        await one.release(id);
      }
    }
    return own.filter((id) => granted.has(id));
  }

  it('gives each slot once, though only free slots of a lost semaphore are left', async () => {
    const one = make({ limit: 6 });
    await one.acquire(['a.1', 'a.2', 'a.3', 'a.4', 'a.5', 'a.6']);
    await one.release(['a.2', 'a.4']);
    await one.redis.del(one.keyOf('tickets'), one.keyOf('info'));
    for (const id of ['b.1', 'b.2', 'b.3', 'b.4', 'b.5']) await one.take(id);
    await one.release('b.3');
    await one.take('c.1');
    const { held } = await one.standing();
    const slots = Object.values(held).flat();
    expect([...new Set(slots)]).to.have.length(5);
    expect(Math.max(...slots)).to.equal(4);
  });

  it('finds the free slots again where their key was lost between two releases', async () => {
    for (const after of [['a.2'], ['a.4'], ['a.2', 'a.4']]) {
      const one = make({ limit: 4 });
      for (const id of ['a.1', 'a.2', 'a.3', 'a.4']) await one.take(id);
      for (const id of ['a.3', 'a.1']) await one.release(id);
      await one.redis.del(one.keyOf('slots'));
      for (const id of after) await one.release(id);
      for (const id of ['b.1', 'b.2']) await one.take(id);
      for (const id of after) expect((await one.release(id)).released).to.deep.equal([false]);
      const slots = Object.values((await one.standing()).held).flat();
      expect([...new Set(slots)]).to.have.length(4 - after.length);
      expect(Math.max(...slots)).to.be.below(4);
      for (const key of await one.redis.keys(one.keyOf('*'))) {
        expect(await one.redis.pttl(key), key).to.be.above(0);
      }
    }
  });

  it('gives lower slots back at maxmemory, and the permit of a group at its limit', async () => {
    const one = make({ limit: 4 });
    for (const id of ['a.1', 'a.2', 'a.3']) await one.take(id);
    const capped = make({ limit: 4 });
    const asking = [{ ...request('a.1'), order: GROUP_A }];
    await capped.acquire(asking, { groupLimit: 1 });
    await one.redis.config('SET', 'maxmemory', '1');
    try {
      for (const id of ['a.1', 'a.2']) expect((await one.release(id)).released).to.eql([true]);
      expect((await one.release('a.2')).released).to.eql([false]);
      expect((await one.release('a.3', { limit: 51 })).released).to.eql([true]);
      expect((await capped.release('a.1')).released).to.eql([true]);
    } finally {
      await one.redis.config('SET', 'maxmemory', '0');
    }
    for (const slot of [0, 1, 2]) expect((await one.take(`b.${slot}`)).slots).to.eql([slot]);
    const again = await capped.acquire([{ ...request('b.1'), order: GROUP_A }], { groupLimit: 1 });
    expect(kinds(again)).to.eql(['granted']);
  });

  it('gives nothing for an expired ticket of limit 1 while another ticket lives', async () => {
    for (const waits of [true, false]) {
      const one = make({ limit: 1 });
      await one.take('a.1', { ttl: 100 });
      await one.take('b.1', { limit: 2 });
      if (waits) await one.acquire('c.1');
      else expect(await one.try('c.1')).to.equal('busy');
      one.pass(150);
      expect((await one.release('a.1')).released).to.deep.equal([false]);
      expect(await one.holders()).to.deep.equal(['b.1']);
      if (!waits) await one.take('d.1', { limit: 2 });
      const slots = Object.values((await one.standing()).held).flat();
      expect([...new Set(slots)]).to.have.length(slots.length);
    }
  });

  for (const key of ['flow:0:a', 'queue']) {
    it(`serves the others of a flow whose key ${key} was lost before its head left`, async () => {
      const one = make({ limit: 1 });
      const order = key === 'queue' ? undefined : GROUP_A;
      await one.take('h.1');
      for (const id of ['w.1', 'w.2', 'w.3']) await ask(one, id, order);
      await ask(one, 'b.1', GROUP_B);
      await one.redis.del(one.keyOf(key));
      await one.release('w.1');
      await one.release('h.1');
      expect(await grantedIn(8, one, ['w.2', 'w.3'])).to.deep.equal(['w.2', 'w.3']);
    });
  }

  it('serves a parked request whose key was lost, and renews that key', async () => {
    const one = make({ limit: 3 });
    await one.acquire(['h.1', 'h.2', 'h.3']);
    await ask(one, 'w.1.3', GROUP_A);
    await one.setLimit(2);
    await one.release(['h.1', 'h.2', 'h.3']);
    await ask(one, 'b.1', GROUP_B);
    expect(await one.redis.zrange(one.keyOf('parked'), 0, -1)).to.deep.equal(['w.1.3']);
    await one.redis.pexpire(one.keyOf('parked'), 60_000);
    await ask(one, 'w.1.3', GROUP_A);
    expect(await one.redis.pttl(one.keyOf('parked'))).to.be.above(60_000);
    await one.redis.del(one.keyOf('parked'));
    await one.setLimit(3);
    expect(await grantedIn(8, one, ['w.1.3'])).to.deep.equal(['w.1.3']);
  });

  /** Group a is at its cap, and group b waits for a permit of group h, which is the last. */
  async function besideCapped(): Promise<RedisFixture> {
    const one = make({ limit: 2 });
    await one.setGroupLimit(1);
    for (const id of ['a.1', 'h.1', 'a.2', 'b.1', 'b.2', 'b.3']) {
      await ask(one, id, { ...GROUP_A, group: id.slice(0, 1) });
    }
    expect(await one.redis.zrange(one.keyOf('capped'), 0, -1)).to.deep.equal(['0 a']);
    expect(await one.redis.zcard(one.keyOf('flows:0'))).to.equal(1);
    return one;
  }

  for (const lost of ['flows:0', 'capped', 'flow:0:a', 'flow:0:b']) {
    it(`serves a capped group and the group beside it though ${lost} was lost`, async () => {
      const one = await besideCapped();
      await one.lose(lost);
      for (const [gone, next] of [
        ['h.1', 'b.1'],
        ['b.1', 'b.2'],
      ] as const) {
        await one.release(gone);
        expect(await one.holders()).to.deep.equal(['a.1', next]);
      }
      expect(await one.queue()).to.have.members(['a.2', 'b.3']);
      // Group b has a head, so that no key is missing.
      await one.release('a.1');
      expect(await one.holders()).to.deep.equal(['b.2', 'a.2']);
      await one.release('b.2');
      expect(await one.holders()).to.deep.equal(['a.2', 'b.3']);
    });
  }

  it('misses no key of heads where all flows of a priority are at the cap', async () => {
    const one = await besideCapped();
    await one.release(['b.1', 'b.2', 'b.3']);
    expect(await one.redis.exists(one.keyOf('flows:0'))).to.equal(0);
    const before = await one.state();
    await one.release('gone.1');
    expect(await one.state()).to.deep.equal(before);
    await ask(one, 'c.1', { ...GROUP_A, group: 'c' });
    await one.lose('flows:0');
    await one.release('h.1');
    expect(await one.holders()).to.deep.equal(['a.1', 'c.1']);
  });

  it('serves a group at its limit once its tickets were lost', async () => {
    const one = make({ limit: 3 });
    const asking = (id: string) =>
      one.acquire([{ ...request(id), order: GROUP_A }], { groupLimit: 1 });
    expect(kinds(await asking('a.1'))).to.deep.equal(['granted']);
    expect(kinds(await asking('w.1'))).to.deep.equal(['queued']);
    await one.redis.del(one.keyOf('tickets'));
    expect(kinds(await asking('w.1'))).to.deep.equal(['granted']);
    expect(await one.holders()).to.deep.equal(['w.1']);
  });

  it('leaves no key without an expiry where the last request of a lost semaphore goes', async () => {
    const one = make({ limit: 1 });
    await one.take('h.1');
    await one.acquire('w.1');
    await one.redis.del(one.keyOf('tickets'), one.keyOf('info'), one.keyOf('clients'));
    await one.release('w.1');
    for (const key of await one.redis.keys(one.keyOf('*'))) {
      expect(await one.redis.pttl(key), key).to.be.above(0);
    }
  });

  it('serves a capped flow whose requests were lost and asked for again', async () => {
    const one = await besideCapped();
    const asking = (id: string, place: number | 'wait', group: string) =>
      one.acquire([request(id, place, { ...GROUP_A, group })]);
    await one.lose('requests');
    await asking('b.1', 'wait', 'b');
    await asking('a.2', one.time.now * 1000, 'a');
    for (const [i, gone] of ['a.1', 'h.1', 'b.1', 'a.2'].entries()) {
      await asking(`b.${10 + i}`, 'wait', 'b');
      await one.release(gone);
      if ((await one.holders()).includes('a.2')) return;
    }
    expect(await one.holders()).to.include('a.2');
  });
});
