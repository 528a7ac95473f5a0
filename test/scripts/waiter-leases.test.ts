import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, ids, kinds, request, ScriptBench } from './script-bench.js';

describeWithServer('scripts: lives of tickets and waiters', (server) => {
  after(closeBenches);

  it('a pushed grant lives for the claim time, whatever ttl is asked for', async () => {
    for (const ttl of [300, 60_000]) {
      const bench = new ScriptBench(server(), { limit: 1, ttl });
      await bench.take('x.1');
      await bench.acquire('a.1');
      await bench.release('x.1');
      expect(await bench.lifeOf('a.1')).to.be.within(4000, 5000);
    }
  });

  it('a grant that goes with the reply to another call lives for the claim time, too', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 60_000 });
    await bench.acquire(['a.1', 'a.2']);
    const { grants, serverTime } = await bench.release('a.1');
    expect(grants[0]?.id).to.equal('a.2');
    expect((grants[0]?.expiresAt ?? 0) - serverTime).to.be.closeTo(5000, 0.01);
    expect(await bench.lifeOf('a.2')).to.be.within(4000, 5000);
  });

  it('a grant to a request that asks for itself lives for its full ttl', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 60_000 });
    await bench.take('x.1');
    await bench.acquire('a.1');
    await bench.expire('x.1');
    expect(kinds(await bench.acquire('a.1'))).to.deep.equal(['granted']);
    expect(await bench.lifeOf('a.1')).to.be.within(59_000, 60_000);
  });

  it('a claimed ticket lives for its full ttl after its first extension, and after asking', async () => {
    const bench = new ScriptBench(server(), { limit: 2, ttl: 60_000 });
    await bench.acquire(['x.1', 'x.2']);
    await bench.acquire(['a.1', 'a.2']);
    await bench.release(['x.1', 'x.2']);
    await bench.extend('a.1');
    await bench.acquire('a.2');
    expect(await bench.lifeOf('a.1')).to.be.within(59_000, 60_000);
    expect(await bench.lifeOf('a.2')).to.be.within(59_000, 60_000);
  });

  it('a permit granted to somebody who is gone comes back after the claim time', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire('a.1');
    await bench.release('x.1');
    bench.pass(4999);
    expect(kinds(await bench.acquire([request('b.1', 'try')]))).to.deep.equal(['busy']);
    bench.pass(1);
    expect(kinds(await bench.acquire([request('b.1', 'try')]))).to.deep.equal(['granted']);
  });

  it('requests of a client count for 5 s after its last try, to the millisecond', async () => {
    for (const [pause, winner] of [
      [4999, 'a.1'],
      [5000, 'b.1'],
    ] as const) {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire('a.1');
      bench.pass(3000);
      await bench.acquire('b.1');
      bench.pass(pause - 3000);
      await bench.release('x.1');
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal([winner]);
    }
  });

  it('each try of a client renews the lease of all its requests', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire('a.1');
    for (let i = 0; i < 4; i++) {
      bench.pass(1500);
      await bench.acquire('a.2');
    }
    await bench.release('x.1');
    expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.1']);
  });

  it('the tries of a request that waits alone keep it waiting, for as long as they go on', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1', { ttl: 60_000 });
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    for (let i = 0; i < 6; i++) {
      bench.pass(4900);
      expect(kinds(await bench.acquire([request('a.1', place)]))).to.deep.equal(['queued']);
      expect((await bench.inspect()).waiting).to.equal(1);
    }
    bench.pass(4900);
    await bench.release('x.1');
    expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.1']);
  });

  it("skips a dead client's requests and forgets them and its label", async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(ids('dead', 3), { label: 'dead-label' });
    bench.pass(4000);
    await bench.acquire('a.1');
    bench.pass(1000);
    expect((await bench.inspect()).waiters.map(({ id, position }) => [id, position])).to.deep.equal(
      [['a.1', 0]],
    );
    await bench.release('x.1');
    expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.1']);
    expect(await bench.queue()).to.deep.equal([]);
    expect(JSON.stringify(await bench.state())).not.to.include('dead');
  });

  it('steps over thousands of dead requests in one call', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['x.1', 'x.2']);
    for (let from = 1; from < 3000; from += 1000) await bench.acquire(ids('dead', 1000, from));
    bench.pass(4000);
    await bench.acquire(['a.1', 'a.2', 'a.3']);
    bench.pass(1000);
    await bench.release(['x.1', 'x.2']);
    expect((await bench.inspect()).holders.map(({ id }) => id)).to.have.members(['a.1', 'a.2']);
    expect(await bench.queue()).to.deep.equal(['a.3']);
  });

  it('a request of a client whose lease lapsed comes back to its old place by asking', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    bench.pass(4000);
    await bench.acquire(['b.1', 'b.2']);
    bench.pass(1000);
    await bench.release('x.1');
    expect(await bench.queue()).to.deep.equal(['b.2']);
    expect(arrivalOf((await bench.acquire([request('a.1', place)])).verdicts[0])).to.equal(place);
    expect(await bench.queue()).to.deep.equal(['a.1', 'b.2']);
  });

  it('a big request of a dead client blocks nobody', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('x.1');
    await bench.acquire('dead.1.2');
    bench.pass(5000);
    expect(kinds(await bench.acquire('a.1'))).to.deep.equal(['granted']);
  });

  it('labels of those who hold and who wait live as long as they do', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1', { label: 'xl' });
    await bench.acquire('a.1', { label: 'al' });
    await bench.acquire('b.1', { label: 'bl' });
    await bench.release('x.1');
    expect((await bench.inspect()).holders[0]).to.include({ id: 'a.1', label: 'al' });
    await bench.release('b.1');
    for (const client of ['x', 'b']) expect(await bench.remembers(client)).to.equal(false);
  });

  it('hundreds of clients that wait once and leave, or die, leave nothing behind', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1', { ttl: 100_000_000 });
    for (let i = 0; i < 500; i++) {
      await bench.acquire(`c${i}.1`);
      if (i % 2 === 0) await bench.release(`c${i}.1`);
      bench.pass(100);
    }
    expect(await bench.redis.zcard(bench.keyOf('waiters'))).to.be.at.most(52);
    await bench.release('x.1');
    bench.pass(10_000);
    await bench.acquire([request('y.1', 'try')]);
    await bench.release('y.1');
    bench.pass(10_000);
    await bench.acquire([request('y.2', 'try')]);
    await bench.release('y.2');
    expect(await bench.parts()).to.deep.equal(['meta']);
    expect(await bench.redis.hlen(bench.keyOf('meta'))).to.be.at.most(10);
  });

  describe('a call that comes too late', () => {
    it('says so and grants, queues and extends nothing', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.take('x.1');
      const notAfter = (await bench.now()) / 1000 - 1;
      const { verdicts } = await bench.acquire(['a.1', request('a.2', 'try')], { notAfter });
      expect(verdicts).to.deep.equal([{ kind: 'late' }, { kind: 'late' }]);
      expect(await bench.inspect()).to.include({ held: 1, waiting: 0 });
      expect(await bench.parts()).not.to.include.members(['queue']);
    });

    it('changes no ticket that its request already has, and no place', async () => {
      const bench = new ScriptBench(server(), { limit: 1, ttl: 1000 });
      await bench.take('a.1');
      const place = arrivalOf((await bench.acquire('b.1')).verdicts[0]);
      const before = await bench.state();
      bench.pass(500);
      const notAfter = (await bench.now()) / 1000 - 0.001;
      const again = await bench.acquire(['a.1', request('b.1', place), 'a.9'], { notAfter });
      expect(kinds(again)).to.deep.equal(['late', 'late', 'late']);
      expect(await bench.state()).to.deep.equal(before);
    });

    it('never tells of a ticket that it grants on this occasion as of one to hold', async () => {
      const bench = new ScriptBench(server(), { limit: 1, ttl: 60_000 });
      await bench.take('x.1');
      await bench.acquire('a.1');
      await bench.expire('x.1');
      const { verdicts, grants } = await bench.acquire('a.1', { notAfter: 1 });
      expect(verdicts).to.deep.equal([{ kind: 'late' }]);
      const life = await bench.lifeOf('a.1');
      expect(grants.map(({ id }) => id)).to.deep.equal(life === undefined ? [] : ['a.1']);
      expect(life ?? 0).to.be.at.most(5000);
    });

    it('puts a dropped request back into no queue', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
      await bench.release('a.1');
      await bench.acquire([request('a.1', place)], { notAfter: 1 });
      expect(await bench.queue()).to.deep.equal([]);
    });

    it('is in time up to the very microsecond', async () => {
      const start = 1_700_000_000_000.5;
      const bench = new ScriptBench(server(), { limit: 1, start });
      expect(kinds(await bench.acquire('a.1', { notAfter: start }))).to.deep.equal(['granted']);
    });
  });

  it('tells those who are left waiting when the next ticket expires', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire('a.1', { ttl: 40_000 });
    await bench.acquire('a.2', { ttl: 20_000 });
    const { nearestExpiry, serverTime } = await bench.acquire('b.1');
    expect((nearestExpiry ?? 0) - serverTime).to.be.within(19_000, 20_000);
  });
});
