import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import {
  arrivalOf,
  closeBenches,
  granted,
  ids,
  kinds,
  request,
  ScriptBench,
} from './script-bench.js';

/** Ways in which keys of a semaphore go: by hand, by eviction, by a restore of old data. */
const LOSSES: readonly (readonly string[])[] = [
  ['tickets'],
  ['free'],
  ['meta'],
  ['queue'],
  ['waiters'],
  ['tickets', 'free'],
  ['meta', 'free'],
  ['tickets', 'queue'],
  ['queue', 'waiters'],
  ['tickets', 'free', 'meta'],
];

/** What the next call may be. */
const NEXT: readonly (readonly [string, (bench: ScriptBench) => Promise<unknown>])[] = [
  ['acquire', (bench) => bench.acquire('z.1')],
  ['try', (bench) => bench.acquire([request('z.1', 'try')])],
  ['extend', (bench) => bench.extend('a.2')],
  ['release', (bench) => bench.release('a.3')],
  ['release of nothing', (bench) => bench.release('gone.1')],
];

describeWithServer('scripts: keys that were lost', (server) => {
  after(closeBenches);

  /** Six holders of ten permits with gaps between them, and two who wait. */
  async function busy(): Promise<{ bench: ScriptBench; highest: number }> {
    const bench = new ScriptBench(server(), { limit: 10 });
    await bench.acquire([...ids('a', 5), 'a.6.3', 'a.7.2']);
    await bench.release(['a.1', 'a.6.3']);
    await bench.acquire(['b.1', 'b.2.4', 'c.1']);
    const { holders } = await bench.inspect();
    return { bench, highest: Math.max(...holders.map(({ fencingToken }) => fencingToken)) };
  }

  async function expectSound(bench: ScriptBench): Promise<void> {
    const { holders, held, limit } = await bench.inspect();
    const slots = holders.flatMap((holder) => holder.slots);
    expect(new Set(slots).size, 'distinct slots').to.equal(slots.length);
    expect(held).to.equal(slots.length).and.to.be.at.most(limit);
    expect(Math.max(...slots, 0)).to.be.below(limit);
    expect(await bench.redis.zcard(bench.keyOf('tickets'))).to.equal(holders.length);
  }

  for (const lost of LOSSES) {
    for (const [what, call] of NEXT) {
      it(`${lost.join(' and ')}, found by ${what}: no permit twice, none lost`, async () => {
        const { bench, highest } = await busy();
        for (const part of lost) await bench.redis.del(bench.keyOf(part));
        bench.pass(1);
        await call(bench);
        await expectSound(bench);
        // All permits can be had again, once each, and with higher tokens.
        bench.pass(10_000);
        const seen = new Map<string, number>();
        for (let i = 0; i < 20; i++) {
          const reply = await bench.acquire([request(`y.${i}`, 'try')]);
          const [verdict] = reply.verdicts;
          if (verdict?.kind === 'granted') seen.set(`y.${i}`, verdict.fencingToken);
          await expectSound(bench);
        }
        expect((await bench.inspect()).held).to.equal(10);
        for (const token of seen.values()) expect(token).to.be.above(highest);
        const { holders } = await bench.inspect();
        await bench.release(holders.map(({ id }) => id));
        expect((await bench.inspect()).held).to.equal(0);
        expect(kinds(await bench.acquire('x.1.10'))).to.deep.equal(['granted']);
      });
    }
  }

  it('get an expiry when a request that was queued before makes them anew', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const arrival = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    await bench.redis.del(bench.keyOf('queue'), bench.keyOf('waiters'));
    await bench.acquire([request('a.1', arrival)]);
    expect(await bench.queue()).to.deep.equal(['a.1']);
    await bench.expectSafeExpiry('the request came back');
  });

  for (const part of ['free', 'queue', 'waiters']) {
    it(`no ticket is lost with ${part}: holders keep slot and token`, async () => {
      const { bench } = await busy();
      const before = (await bench.inspect()).holders;
      await bench.redis.del(bench.keyOf(part));
      const held = before.map(({ id }) => id);
      expect((await bench.extend(held)).extended).to.deep.equal(held.map(() => true));
      const after = (await bench.inspect()).holders;
      for (const { id, slots, fencingToken } of before) {
        const same = after.find((holder) => holder.id === id);
        expect(same).to.deep.include({ slots, fencingToken });
      }
    });
  }

  for (const lost of ['free', 'the state']) {
    it(`${lost} is made anew as it was, and tokens rise also where the clock is behind`, async () => {
      const bench = new ScriptBench(server(), { limit: 10 });
      const { verdicts } = await bench.acquire(ids('a', 9));
      await bench.release(['a.2', 'a.4', 'a.5', 'a.7']);
      const lose = (): Promise<number> =>
        lost === 'free'
          ? bench.redis.del(bench.keyOf('free'))
          : bench.redis.hdel(bench.keyOf('meta'), 'state');
      const before = await standing(bench);
      expect(before.livesOn).to.equal(true);
      await lose();
      await bench.extend('gone.1');
      expect(await standing(bench)).to.deep.equal(before);
      await lose();
      bench.pass(-1000);
      const { slots, fencingToken } = await bench.take('b.1');
      expect(slots).to.deep.equal([1]);
      const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
      expect(fencingToken).to.be.above(Math.max(...tokens));
    });
  }

  /** All that stands, but until when the keys must live, and whether a range of one slot is written as one. */
  async function standing(bench: ScriptBench) {
    const { meta, free, ...rest } = await bench.state();
    const { state = '', ...records } = Object(meta) as Record<string, string>;
    const [until, numbers] = [state.split(' ')[2], state.split(' ').toSpliced(2, 1)];
    const ranges = String(free).replaceAll(/\b(\d+)-\1\b/g, '$1');
    const livesOn = Number(until) >= (await bench.now()) + bench.ttl * 1000;
    return { ...rest, ranges, records, numbers, livesOn };
  }

  for (const part of ['tickets', 'meta']) {
    it(`without ${part} every holder is told that its ticket is gone`, async () => {
      const { bench } = await busy();
      await bench.redis.del(bench.keyOf(part));
      const { extended } = await bench.extend(['a.2', 'a.3', 'b.1']);
      expect(extended).to.deep.equal([false, false, false]);
      expect((await bench.release('a.2')).released).to.deep.equal([false]);
    });
  }

  for (const rest of [0, 3]) {
    it(`tickets that expired with their key are not there any more, with ${rest} permits left`, async () => {
      const bench = new ScriptBench(server(), { limit: 3 + rest });
      const { fencingToken } = await bench.take('a.1.3');
      // Its processes died: the key expired with the last ticket.
      bench.pass(10 * bench.ttl);
      await bench.redis.del(bench.keyOf('tickets'), bench.keyOf('free'));
      expect((await bench.inspect()).held).to.equal(0);
      expect((await bench.release('a.1.3')).released).to.deep.equal([false]);
      expect((await bench.take('b.1')).slots).to.deep.equal([0]);
      expect((await bench.take('b.2')).fencingToken).to.be.above(fencingToken);
      await bench.release(['b.1', 'b.2']);
      expect(await bench.parts()).to.deep.equal(['meta']);
      expect(await bench.remembers('a')).to.equal(false);
    });
  }

  for (const part of ['queue', 'waiters', 'meta', 'tickets', 'free']) {
    it(`waiters that ask again come through in their order without ${part}`, async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.acquire(['x.1', 'x.2', 'x.3']);
      await bench.release('x.3');
      const places = new Map<string, number>();
      for (const id of ['a.1', 'b.1', 'a.2']) {
        places.set(id, arrivalOf((await bench.acquire(id)).verdicts[0]));
      }
      await bench.redis.del(bench.keyOf(part));
      const grants = new Map<string, number>();
      const ask = async (...asked: string[]): Promise<void> => {
        const reply = await bench.acquire(asked.map((id) => request(id, places.get(id) ?? 'wait')));
        reply.verdicts.forEach((verdict, i) => {
          if (verdict.kind === 'granted') grants.set(asked[i] ?? '', verdict.fencingToken);
        });
      };
      for (let round = 0; round < 3; round++) {
        await ask('b.1');
        await ask('a.1', 'a.2');
        await bench.release(['x.1', 'x.2', ...grants.keys()]);
      }
      expect([...grants.keys()]).to.have.members(['a.1', 'b.1', 'a.2']);
      expect(await bench.queue()).to.deep.equal([]);
    });
  }

  it('slots start at 0 again when all tickets expired with their key', async () => {
    const bench = new ScriptBench(server(), { limit: 10 });
    await bench.acquire(ids('a', 3));
    bench.pass(10 * bench.ttl);
    await bench.redis.del(bench.keyOf('tickets'));
    const reply = await bench.acquire(ids('b', 2));
    expect(reply.verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[0], [1]]);
    await expectSound(bench);
    await bench.release(ids('b', 2));
    expect(await bench.remembers('a')).to.equal(false);
  });

  it('a single ticket that was removed by hand costs that ticket alone', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    await bench.acquire(ids('a', 4));
    await bench.redis.zrem(bench.keyOf('tickets'), 'a.2');
    expect((await bench.extend(ids('a', 4))).extended).to.deep.equal([true, false, true, true]);
    expect((await bench.take('b.1')).slots).to.deep.equal([1]);
    await expectSound(bench);
  });

  it('a ticket whose record is gone goes when its life is over', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    await bench.take('a.1');
    await bench.redis.hdel(bench.keyOf('meta'), 'a.1');
    bench.pass(bench.ttl);
    await bench.extend('gone.1');
    expect(await bench.parts()).to.deep.equal(['meta']);
  });

  describe('with an old meta that came back alone', () => {
    /** As `meta` was when the bench had one holder, who left since. */
    async function restored(since: (bench: ScriptBench) => Promise<unknown>): Promise<ScriptBench> {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('a.1');
      const old = await bench.redis.dumpBuffer(bench.keyOf('meta'));
      await since(bench);
      await bench.redis.restore(bench.keyOf('meta'), 60_000, old, 'REPLACE');
      return bench;
    }

    async function turn(bench: ScriptBench): Promise<void> {
      await bench.release('a.1');
      await bench.take('b.1');
      await bench.acquire('c.1');
    }

    it('a ticket that it does not know is gone when it is given back, and the next waiter is served', async () => {
      const bench = await restored(turn);
      await bench.release('b.1');
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['c.1']);
      await expectSound(bench);
    });

    it('a holder that it does not know is told so by its next extension: its slot may be given away', async () => {
      const bench = await restored(turn);
      expect((await bench.extend('b.1')).extended).to.deep.equal([false]);
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['c.1']);
      await expectSound(bench);
    });

    it('a ticket that it does not know makes room when it is revoked', async () => {
      const bench = await restored(turn);
      await bench.revoke('b.1');
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['c.1']);
      await expectSound(bench);
    });

    it('a ticket that was waiting by it is gone, too', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('a.1');
      for (const id of ['b.1', 'c.1']) await bench.acquire(id);
      const old = await bench.redis.dumpBuffer(bench.keyOf('meta'));
      await bench.release('a.1');
      await bench.redis.restore(bench.keyOf('meta'), 60_000, old, 'REPLACE');
      await bench.release('b.1');
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['c.1']);
    });

    it('waiters that it does not know are served', async () => {
      let arrival = 0;
      const bench = await restored(async () => undefined);
      const old = await bench.redis.dumpBuffer(bench.keyOf('meta'));
      arrival = arrivalOf((await bench.acquire('b.1')).verdicts[0]);
      await bench.acquire('c.1');
      await bench.redis.restore(bench.keyOf('meta'), 60_000, old, 'REPLACE');
      await bench.release('a.1');
      expect(kinds(await bench.acquire([request('b.1', arrival)]))).to.deep.equal(['granted']);
      await bench.release('b.1');
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['c.1']);
    });
  });

  it('a call that finds nothing makes nothing', async () => {
    const bench = new ScriptBench(server());
    await bench.extend('a.1');
    await bench.release(['a.1', 'a.2']);
    await bench.revoke('a.1');
    await bench.inspect();
    expect(await bench.parts()).to.deep.equal([]);
  });
});
