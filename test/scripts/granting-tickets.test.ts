import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { closeBenches, granted, ids, kinds, request, ScriptBench } from './script-bench.js';

describeWithServer('scripts: granting tickets', (server) => {
  after(closeBenches);

  for (const count of [1, 10, 1000]) {
    it(`grants, extends and releases ${count} in one call`, async () => {
      const bench = new ScriptBench(server(), { limit: count });
      const all = ids('a', count);
      const { verdicts } = await bench.acquire([...all]);
      expect(verdicts.map((verdict) => granted(verdict).slots[0])).to.deep.equal(
        all.map((_, slot) => slot),
      );
      expect(await bench.redis.zcard(bench.keyOf('tickets'))).to.equal(count);
      expect((await bench.extend(all)).extended).to.deep.equal(all.map(() => true));
      expect((await bench.release(all)).released).to.deep.equal(all.map(() => true));
      expect(await bench.parts()).to.deep.equal(['meta']);
    });
  }

  it('queues 1000 in one call, serves them in one call, and withdraws them in one call', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('holder.1');
    const all = ids('b', 1000);
    expect(new Set(kinds(await bench.acquire(all)))).to.deep.equal(new Set(['queued']));
    expect(await bench.queue()).to.deep.equal(all);
    bench.limit = 400;
    const { grants } = await bench.release('holder.1', { client: 'b' });
    expect(grants.map(({ id }) => id)).to.deep.equal(all.slice(0, 400));
    expect(grants.map(({ slots }) => slots[0])).to.deep.equal(all.slice(0, 400).map((_, i) => i));
    await bench.release(all);
    expect(await bench.parts()).to.deep.equal(['meta']);
  });

  it('grants no more than the limit, whatever a call asks for', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    const reply = await bench.acquire(ids('a', 5));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted', 'granted', 'queued', 'queued']);
    expect(kinds(await bench.acquire([request('b.1', 'try')]))).to.deep.equal(['busy']);
    expect(await bench.inspect()).to.include({ limit: 3, held: 3, waiting: 2 });
  });

  it('writes tickets with the end of their life by the server clock as score', async () => {
    const bench = new ScriptBench(server(), { realTime: true });
    const before = await bench.now();
    const { serverTime } = await bench.acquire('a.1', { ttl: 12_345 });
    expect(serverTime * 1000)
      .to.be.at.least(before)
      .and.at.most(await bench.now());
    const score = Number(await bench.redis.zscore(bench.keyOf('tickets'), 'a.1'));
    expect(score).to.equal(Math.round(serverTime * 1000) + 12_345_000);
  });

  it('drops what has expired first and uses its slots again, lowest first', async () => {
    const bench = new ScriptBench(server(), { limit: 5 });
    await bench.acquire(ids('a', 5));
    await bench.expire('a.4', 'a.2');
    expect((await bench.take('b.1')).slots).to.deep.equal([1]);
    expect((await bench.take('b.2')).slots).to.deep.equal([3]);
    const tickets = await bench.redis.zrange(bench.keyOf('tickets'), 0, -1);
    expect(tickets.toSorted()).to.deep.equal(['a.1', 'a.3', 'a.5', 'b.1', 'b.2']);
  });

  it('treats a ticket as expired at its very microsecond and as live one before', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 1000 });
    await bench.take('a.1');
    bench.pass(999.999);
    expect(kinds(await bench.acquire([request('b.1', 'try')]))).to.deep.equal(['busy']);
    expect((await bench.inspect()).held).to.equal(1);
    bench.pass(0.001);
    expect((await bench.inspect()).held).to.equal(0);
    expect((await bench.extend('a.1')).extended).to.deep.equal([false]);
    await bench.take('b.1');
  });

  it('does not bring back what has expired, neither by extend nor by release', async () => {
    const bench = new ScriptBench(server());
    await bench.acquire(ids('a', 2));
    await bench.expire('a.1', 'a.2');
    expect((await bench.extend(['a.1'])).extended).to.deep.equal([false]);
    expect((await bench.release(['a.2'])).released).to.deep.equal([false]);
    expect(await bench.inspect()).to.include({ held: 0, waiting: 0 });
  });

  it('gives the lowest free slots, over gaps of every shape', async () => {
    const bench = new ScriptBench(server(), { limit: 20 });
    await bench.acquire(ids('a', 10));
    await bench.release(['a.1', 'a.4', 'a.6', 'a.10']);
    expect((await bench.take('b.1.6')).slots).to.deep.equal([0, 3, 5, 9, 10, 11]);
    await bench.release(['b.1.6', 'a.2']);
    expect((await bench.take('b.2')).slots).to.deep.equal([0]);
    expect((await bench.take('b.3.2')).slots).to.deep.equal([1, 3]);
  });

  it('keeps slots distinct and below the limit, with weights and in random order', async () => {
    const bench = new ScriptBench(server(), { limit: 40 });
    const held = new Map<string, readonly number[]>();
    for (let round = 0; round < 150; round++) {
      const id = `a.${round}.${1 + ((round * 7) % 6)}`;
      const [verdict] = (await bench.acquire([request(id, 'try')])).verdicts;
      if (verdict?.kind === 'granted') held.set(id, verdict.slots);
      const used = [...held.values()].flat();
      expect(new Set(used).size).to.equal(used.length);
      expect(Math.max(...used)).to.be.below(40);
      const victim = [...held.keys()][(round * 5) % held.size];
      if (victim === undefined || (verdict?.kind !== 'busy' && round % 3 > 0)) continue;
      await bench.release(victim);
      held.delete(victim);
    }
    const { holders } = await bench.inspect();
    expect(new Map(holders.map(({ id, slots }) => [id, slots]))).to.deep.equal(held);
  });

  it('counts a ticket by its permits', async () => {
    const bench = new ScriptBench(server(), { limit: 10 });
    expect((await bench.take('a.1.7')).slots).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
    expect(kinds(await bench.acquire([request('a.2.4', 'try')]))).to.deep.equal(['busy']);
    expect((await bench.take('a.3.3')).slots).to.deep.equal([7, 8, 9]);
    expect(kinds(await bench.acquire([request('a.4', 'try')]))).to.deep.equal(['busy']);
    expect((await bench.inspect()).held).to.equal(10);
    await bench.release('a.1.7');
    expect((await bench.inspect()).held).to.equal(3);
  });

  it('lets a smaller try through after a larger one of the same call found no room', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('a.1');
    const tries = [request('b.1.2', 'try'), request('b.2', 'try')];
    expect(kinds(await bench.acquire(tries))).to.deep.equal(['busy', 'granted']);
  });

  it('does not let a try overtake those who wait', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('a.1');
    await bench.acquire('b.1.2');
    expect(kinds(await bench.acquire([request('c.1', 'try')]))).to.deep.equal(['busy']);
    expect(kinds(await bench.acquire(['d.1']))).to.deep.equal(['queued']);
  });

  it('shows holders with slots, token, times and label', async () => {
    const bench = new ScriptBench(server(), { ttl: 10_000, realTime: true });
    const label = 'host a;b|c: ü 100%';
    const { fencingToken } = await bench.take('a.1.2', { label });
    await bench.take('b.1', { label: '' });
    const { holders } = await bench.inspect();
    const [first, second] = holders.toSorted((x, y) => x.fencingToken - y.fencingToken);
    expect(first).to.include({ id: 'a.1.2', fencingToken, label });
    expect(first?.slots).to.deep.equal([0, 1]);
    expect(first?.expiresIn).to.be.within(9000, 10_000);
    expect(first?.heldFor).to.be.within(0, 1000);
    expect(second).to.include({ id: 'b.1', label: '' });
  });

  it('keeps semaphores with other names or prefixes apart', async () => {
    const names = ['n', 'N', 'n}', '{n', 'n:tickets', '%7D', '}', '\0', '🚦', ' ', 'x'.repeat(512)];
    for (const name of names) {
      const bench = new ScriptBench(server(), { limit: 1, name });
      expect((await bench.take('a.1')).slots).to.deep.equal([0]);
      expect(kinds(await bench.acquire([request('a.2', 'try')]))).to.deep.equal(['busy']);
    }
  });

  it('gives a waiter the lowest slot of those that come free, in whatever order they are named', async () => {
    const bench = new ScriptBench(server(), { limit: 6 });
    await bench.acquire(ids('x', 6));
    await bench.acquire('a.1');
    const { grants } = await bench.release(['x.6', 'x.2', 'x.4', 'x.3'], { client: 'a' });
    expect(grants.map(({ slots }) => slots)).to.deep.equal([[1]]);
    const { verdicts } = await bench.acquire(['b.1', 'b.2', 'b.3']);
    expect(verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[2], [3], [5]]);
  });
});
