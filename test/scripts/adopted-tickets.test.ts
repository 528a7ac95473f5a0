import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, ids, kinds, request, ScriptBench } from './script-bench.js';

/** What `meta` has when nobody holds or waits. */
const OWN_FIELDS = ['layout', 'state'];

describeWithServer('scripts: tickets that are adopted', (server) => {
  after(closeBenches);

  async function holdersOf(bench: ScriptBench): Promise<Record<string, number[]>> {
    const { holders } = await bench.inspect();
    return Object.fromEntries(holders.map(({ id, slots }) => [id, slots]));
  }

  it('get a new id, a higher token and the ttl of who adopts, and keep their slots', async () => {
    const bench = new ScriptBench(server(), { limit: 5, ttl: 1000 });
    await bench.take('x.1');
    const { fencingToken } = await bench.take('a.1.3');
    const last = await bench.take('y.1');
    const { ticket } = await bench.adopt('a.1.3', 'b.1.3', { ttl: 5000 });
    expect(ticket).to.deep.include({ slots: [1, 2, 3], before: 'a.1.3' });
    expect(ticket?.fencingToken).to.be.above(fencingToken).and.above(last.fencingToken);
    expect(await bench.lifeOf('a.1.3')).to.equal(undefined);
    expect(await bench.lifeOf('b.1.3~a.1.3')).to.equal(5000);
    await bench.expectSafeExpiry('the adoption');
    expect((await bench.extend('a.1.3')).extended).to.deep.equal([false]);
    expect((await bench.release('a.1.3')).released).to.deep.equal([false]);
    expect((await bench.inspect()).held).to.equal(5);
  });

  it('count the permits of their own id, asked for again when they are gone, however the first one ends', async () => {
    for (const [first, own, slots] of [
      ['d.5', 'b.1', [0]],
      ['d.5.2', 'b.1.2', [0, 1]],
    ] as const) {
      const bench = new ScriptBench(server(), { limit: 3, ttl: 1000 });
      await bench.take(first);
      await bench.adopt(first, own);
      bench.pass(1100);
      await bench.take('x.1.3');
      await bench.acquire(`${own}~${first}`);
      await bench.release('x.1.3');
      expect(await holdersOf(bench)).to.deep.equal({ [`${own}~${first}`]: [...slots] });
      bench.pass(5000);
      // Beside one that asks for several, so that permits are read off all of them.
      await bench.acquire([`${own}~${first}`, 'b.9.2']);
      expect((await bench.inspect()).held).to.equal(slots.length === 1 ? 3 : 2);
    }
  });

  it('are found under every id that they ever had: the later wins', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('a.1');
    const tokens: number[] = [];
    let before = 'a.1';
    const presented = ['a.1', 'a.1', 'b.0~a.1', 'c.1~a.1', 'a.1'];
    for (const [i, id] of presented.entries()) {
      const own = `${'bcbcb'[i] ?? ''}.${i}`;
      const { ticket } = await bench.adopt(id, own);
      expect(ticket).to.deep.include({ slots: [0], before });
      tokens.push(ticket?.fencingToken ?? 0);
      before = `${own}~a.1`;
    }
    expect(tokens).to.deep.equal(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).to.equal(tokens.length);
    expect(await holdersOf(bench)).to.deep.equal({ 'b.4~a.1': [0] });
    expect(await bench.redis.zcard(bench.keyOf('tickets'))).to.equal(1);
  });

  it('change nothing when the call runs twice, and tell the same ticket', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['a.1', 'x.1']);
    const first = await bench.adopt('a.1', 'b.1');
    const state = await bench.state();
    const second = await bench.adopt('a.1', 'b.1');
    expect(await bench.state()).to.deep.equal(state);
    const { slots, fencingToken } = first.ticket ?? {};
    expect(second.ticket).to.deep.equal({ slots, fencingToken, before: 'b.1~a.1' });
  });

  it('are not there once they were released, expired or revoked, and nothing is left', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    await bench.acquire(['a.1', 'a.2', 'a.3']);
    for (const n of [1, 2, 3]) await bench.adopt(`a.${n}`, `b.${n}`);
    await bench.release('b.1~a.1');
    await bench.revoke('b.2~a.2');
    await bench.expire('b.3~a.3');
    for (const id of ['a.1', 'b.1~a.1', 'a.2', 'b.2~a.2', 'a.3', 'b.3~a.3', 'never.1']) {
      expect((await bench.adopt(id, 'c.1')).ticket, id).to.equal(undefined);
    }
    expect(await bench.parts()).to.deep.equal(['meta']);
    expect(await bench.fields()).to.deep.equal([...OWN_FIELDS, 'revoked'].toSorted());
  });

  it('are found by the very id first: one that was granted again under its old id is that one', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.take('a.1');
    await bench.adopt('a.1', 'b.1');
    // Its acquire ran a second time.
    const again = await bench.take('a.1');
    expect(again.slots).to.deep.equal([1]);
    const { ticket } = await bench.adopt('a.1', 'c.1');
    expect(ticket).to.deep.include({ slots: [1], before: 'a.1' });
    expect(await holdersOf(bench)).to.deep.equal({ 'b.1~a.1': [0], 'c.1~a.1': [1] });
  });

  it('are not made of a request that waits, whose place it keeps', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(['w.1', 'w.2'], { label: '0' });
    const state = await bench.state();
    expect((await bench.adopt('w.1', 'b.1')).ticket).to.equal(undefined);
    expect(await bench.state()).to.deep.equal(state);
  });

  describe('by a call that comes too late', () => {
    it('stay as they are, and it says so', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.acquire(['a.1', 'a.2']);
      await bench.adopt('a.2', 'b.2');
      const state = await bench.state();
      bench.pass(500);
      const notAfter = (await bench.now()) / 1000 - 0.001;
      for (const id of ['a.1', 'a.2', 'b.2~a.2', 'never.1']) {
        const reply = await bench.adopt(id, 'c.1', { notAfter });
        expect(reply, id).to.include({ late: true, ticket: undefined });
      }
      expect(await bench.state()).to.deep.equal(state);
    });

    it('stay as they are when it ran before, in time', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('a.1');
      await bench.adopt('a.1', 'b.1');
      bench.pass(500);
      const reply = await bench.adopt('a.1', 'b.1', { notAfter: 1 });
      expect(reply).to.include({ late: true, ticket: undefined });
      expect(await bench.lifeOf('b.1~a.1')).to.equal(bench.ttl - 500);
    });

    it('change hands up to the very microsecond', async () => {
      const start = 1_700_000_000_000.5;
      const bench = new ScriptBench(server(), { limit: 1, start });
      await bench.take('a.1');
      const { ticket, late } = await bench.adopt('a.1', 'b.1', { notAfter: start });
      expect(ticket).to.deep.include({ slots: [0], before: 'a.1' });
      expect(late).not.to.equal(true);
    });
  });

  it('leave nothing in meta but its own fields, however they end', async () => {
    const bench = new ScriptBench(server(), { limit: 20 });
    const ends: ((id: string) => Promise<unknown>)[] = [
      (id) => bench.release(id),
      (id) => bench.expire(id),
      (id) => bench.release([id, 'never.1']),
    ];
    for (const [i, end] of ends.entries()) {
      const before = ids(`a${i}`, 4);
      await bench.acquire(before);
      for (const [n, id] of before.entries()) await bench.adopt(id, `b${i}.${n}`);
      for (const [n, id] of before.entries()) await bench.adopt(id, `c${i}.${n}`);
      for (const [n, id] of before.entries()) await end(`c${i}.${n}~${id}`);
      await bench.acquire([request('z.1.21', 'try')]);
      expect(await bench.parts()).to.deep.equal(['meta']);
      expect(await bench.fields()).to.deep.equal(OWN_FIELDS);
    }
  });

  it('do not make meta grow, however often they change hands', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['a.1', 'x.1']);
    await bench.adopt('a.1', 'b.0');
    const fields = await bench.redis.hlen(bench.keyOf('meta'));
    for (let n = 1; n <= 200; n++) {
      bench.pass(1);
      await bench.adopt('a.1', `b.${n}`);
    }
    expect(await bench.redis.hlen(bench.keyOf('meta'))).to.equal(fields);
    // What is presented grows no longer either.
    expect(Object.keys(await holdersOf(bench))).to.have.members(['b.200~a.1', 'x.1']);
  });

  it('leave nothing when the key of their tickets is lost', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['a.1', 'a.2.2']);
    await bench.adopt('a.1', 'b.1');
    await bench.adopt('a.2.2', 'b.2.2');
    await bench.redis.del(bench.keyOf('tickets'));
    expect((await bench.adopt('a.1', 'c.1')).ticket).to.equal(undefined);
    expect((await bench.inspect()).held).to.equal(0);
    expect(await bench.fields()).to.deep.equal(OWN_FIELDS);
    expect((await bench.take('z.1.3')).slots).to.deep.equal([0, 1, 2]);
  });

  for (const lost of [['free'], ['queue', 'waiters'], ['free', 'queue', 'waiters']]) {
    it(`keep slots, tokens and their old ids when ${lost.join(' and ')} are lost`, async () => {
      const bench = new ScriptBench(server(), { limit: 5 });
      await bench.acquire(['x.1', 'a.1', 'x.2', 'a.2.2']);
      const one = await bench.adopt('a.1', 'b.1');
      const two = await bench.adopt('a.2.2', 'b.2.2');
      await bench.release(['x.1', 'x.2']);
      for (const part of lost) await bench.redis.del(bench.keyOf(part));
      expect((await bench.extend(['b.1~a.1', 'b.2.2~a.2.2'])).extended).to.deep.equal([true, true]);
      const { holders } = await bench.inspect();
      for (const { ticket } of [one, two]) {
        const { slots, fencingToken } = ticket ?? {};
        expect(holders.some((holder) => holder.fencingToken === fencingToken)).to.equal(true);
        expect(holders.map((holder) => holder.slots)).to.deep.include(slots);
      }
      expect((await bench.adopt('a.2.2', 'c.1.2')).ticket?.slots).to.deep.equal([3, 4]);
      expect((await bench.take('y.1.2')).slots).to.deep.equal([0, 2]);
      await bench.release(['b.1~a.1', 'c.1.2~a.2.2', 'y.1.2']);
      expect(await bench.parts()).to.deep.equal(['meta']);
      expect(await bench.fields()).to.deep.equal(OWN_FIELDS);
    });
  }

  it('cost that ticket alone when one is removed by hand, and its old id finds nothing', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['a.1', 'a.2', 'a.3']);
    for (const n of [1, 2]) await bench.adopt(`a.${n}`, `b.${n}`);
    await bench.redis.zrem(bench.keyOf('tickets'), 'b.1~a.1');
    expect((await bench.adopt('a.1', 'c.1')).ticket).to.equal(undefined);
    expect((await bench.adopt('a.2', 'c.2')).ticket?.slots).to.deep.equal([1]);
    expect(await holdersOf(bench)).to.deep.equal({ 'c.2~a.2': [1], 'a.3': [2] });
    expect((await bench.take('z.1')).slots).to.deep.equal([0]);
    expect(await bench.remembers('b')).to.equal(false);
  });

  it('grant on the occasion what had expired, and tell the calling client of its own', async () => {
    const bench = new ScriptBench(server(), { limit: 2, ttl: 1000 });
    await bench.take('x.1', { ttl: 100 });
    await bench.take('a.1');
    arrivalOf((await bench.acquire('b.5')).verdicts[0]);
    bench.pass(100);
    const { ticket, grants } = await bench.adopt('a.1', 'b.1');
    expect(ticket?.slots).to.deep.equal([1]);
    expect(grants.map(({ id, slots }) => [id, slots])).to.deep.equal([['b.5', [0]]]);
    expect(grants[0]?.fencingToken).to.be.above(ticket?.fencingToken ?? Infinity);
  });

  it('do not touch those who wait, beyond a limit that has shrunk', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['a.1', 'a.2']);
    await bench.acquire(['w.1', 'w.2']);
    await bench.setLimit(1);
    expect((await bench.adopt('a.2', 'b.1')).ticket?.slots).to.deep.equal([1]);
    expect(await bench.queue()).to.deep.equal(['w.1', 'w.2']);
    expect(kinds(await bench.acquire([request('t.1', 'try')]))).to.deep.equal(['busy']);
    await bench.release(['b.1~a.2']);
    expect(await bench.queue()).to.deep.equal(['w.1', 'w.2']);
    await bench.release('a.1');
    expect(await bench.queue()).to.deep.equal(['w.2']);
  });
});
