import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { closeBenches, ids, kinds, request, ScriptBench } from './script-bench.js';

describeWithServer('scripts: a limit that is stored', (server) => {
  after(closeBenches);

  it('counts in every call, and each reply tells it where it is not the caller’s', async () => {
    const bench = new ScriptBench(server(), { limit: 5 });
    expect((await bench.setLimit(2)).storedLimit).to.equal(2);
    const reply = await bench.acquire(ids('a', 3));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted', 'queued']);
    const replies = [
      reply,
      await bench.extend('a.1'),
      await bench.adopt('a.2', 'b.1'),
      await bench.revoke('never.1'),
      await bench.release('never.1'),
    ];
    expect(replies.map(({ storedLimit }) => storedLimit)).to.deep.equal([2, 2, 2, 2, 2]);
    bench.limit = 2;
    expect((await bench.extend('a.1')).storedLimit).to.equal(undefined);
    expect((await bench.inspect()).limit).to.equal(2);
  });

  it('grants what it makes room for in the same call, in order, and tells who asks', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('x.1.2');
    for (const id of ['a.1', 'b.1.2', 'a.2']) await bench.acquire(id);
    const { grants } = await bench.setLimit(5, { client: 'a' });
    expect(grants.map(({ id, slots }) => [id, slots])).to.deep.equal([['a.1', [2]]]);
    expect(await bench.queue()).to.deep.equal(['a.2']);
    expect((await bench.inspect()).held).to.equal(5);
  });

  it('is not changed by who gives back what it has no semaphore for, nor is that of the last caller', async () => {
    for (const stored of [undefined, 2]) {
      const bench = new ScriptBench(server(), { limit: stored === undefined ? 2 : 9 });
      if (stored !== undefined) await bench.setLimit(stored);
      await bench.acquire(ids('a', 2));
      for (const id of ['b.1', 'b.2', 'b.3']) await bench.acquire(id);
      expect(await bench.release('b.3', { limit: 0 })).to.include({ otherLimit: undefined });
      expect((await bench.inspect()).held).to.equal(2);
      await bench.release('a.1', { limit: 0 });
      expect((await bench.inspect()).held).to.equal(2);
      expect(await bench.queue()).to.deep.equal(['b.2']);
      const { otherLimit, storedLimit } = await bench.extend('a.2');
      expect([otherLimit, storedLimit]).to.deep.equal([undefined, stored]);
    }
  });

  it('changes nothing the second time', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(['a.1', 'a.2']);
    await bench.setLimit(2);
    const state = await bench.state();
    await bench.setLimit(2);
    expect(await bench.state()).to.deep.equal(state);
  });

  it('outlives the loss of every other key, and the rebuilding of meta', async () => {
    const bench = new ScriptBench(server(), { limit: 5 });
    await bench.setLimit(3);
    await bench.acquire(ids('a', 3));
    for (const part of ['tickets', 'free', 'queue', 'waiters']) {
      await bench.redis.del(bench.keyOf(part));
      expect((await bench.acquire([request('z.1.9', 'try')])).storedLimit, part).to.equal(3);
      expect((await bench.inspect()).limit).to.equal(3);
    }
    const reply = await bench.acquire(ids('b', 4));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted', 'granted', 'queued']);
  });

  it('is lost with meta alone, and then each caller’s own counts again', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.setLimit(1);
    await bench.redis.del(bench.keyOf('meta'));
    const reply = await bench.acquire(ids('a', 2));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted']);
    expect(reply.storedLimit).to.equal(undefined);
  });

  it('stands in a key that goes within a day, set on its own or under tickets', async () => {
    const day = 86_400_000;
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.setLimit(3);
    expect(await bench.parts()).to.deep.equal(['meta']);
    expect(await bench.redis.pttl(bench.keyOf('meta'))).to.be.within(day - 60_000, day + 60_000);
    await bench.take('a.1', { ttl: 1_000_000 });
    await bench.setLimit(4);
    await bench.expectSafeExpiry('a new limit');
    const life = await bench.redis.pttl(bench.keyOf('meta'));
    expect(life).to.be.within(day + 900_000, day + 2_000_000);
  });

  describe('by a call that comes too late', () => {
    it('stays as it was, and the reply says so and tells what counts', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire(['a.1', 'a.2', 'a.3']);
      await bench.setLimit(2);
      const state = await bench.state();
      const notAfter = (await bench.now()) / 1000 - 0.001;
      const reply = await bench.setLimit(4, { notAfter });
      expect(reply).to.deep.include({ late: true, storedLimit: 2, grants: [] });
      expect(await bench.state()).to.deep.equal(state);
      expect(await bench.inspect()).to.include({ limit: 2, held: 2, waiting: 2 });
    });

    it('stays unset where none was stored, and nobody is let in beyond the caller’s', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire(['a.1', 'a.2', 'a.3']);
      const state = await bench.state();
      const notAfter = (await bench.now()) / 1000 - 0.001;
      const reply = await bench.setLimit(3, { notAfter });
      expect(await bench.inspect()).to.include({ limit: 1, held: 1, waiting: 3 });
      expect(reply).to.deep.include({ late: true, storedLimit: undefined, grants: [] });
      expect(await bench.state()).to.deep.equal(state);
    });

    it('is set up to the very microsecond', async () => {
      const start = 1_700_000_000_000.5;
      const bench = new ScriptBench(server(), { limit: 1, start });
      const reply = await bench.setLimit(3, { notAfter: start });
      expect(reply.late).not.to.equal(true);
      expect(reply.storedLimit).to.equal(3);
    });
  });

  it('never lets more in than it, whatever it is set to meanwhile', async () => {
    const bench = new ScriptBench(server(), { limit: 8 });
    const held: string[] = [];
    for (let round = 0; round < 60; round++) {
      const limit = 1 + ((round * 5) % 8);
      await bench.setLimit(limit);
      const before = held.length;
      const asked = ids(`c${round}`, 3);
      const { verdicts } = await bench.acquire(asked.map((id) => request(id, 'try')));
      asked.forEach((id, i) => {
        if (verdicts[i]?.kind === 'granted') held.push(id);
      });
      const allowed = Math.max(limit, before);
      expect(held.length, `round ${round}`).to.equal(Math.min(before + 3, allowed));
      const { holders } = await bench.inspect();
      expect(holders.map(({ id }) => id)).to.have.members(held);
      await bench.release(held.splice(0, round % 3));
    }
  });
});

describeWithServer('scripts: callers with different limits', (server) => {
  after(closeBenches);

  it('are told of the last one that differs, while somebody holds or waits', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    const ask = async (client: string, limit: number): Promise<number | undefined> =>
      (await bench.acquire([request(`${client}.1`, 'try')], { limit })).otherLimit;
    expect(await ask('a', 2)).to.equal(undefined);
    expect(await ask('b', 3)).to.equal(2);
    expect(await ask('b', 3)).to.equal(undefined);
    expect((await bench.extend('a.1')).otherLimit).to.equal(3);
    expect((await bench.release('b.1', { limit: 4 })).otherLimit).to.equal(2);
    await bench.setLimit(5);
    expect(await ask('c', 6)).to.equal(undefined);
  });

  it('are told nothing when the others have gone', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('a.1');
    await bench.release('a.1');
    expect((await bench.acquire('b.1', { limit: 3 })).otherLimit).to.equal(undefined);
  });
});

describeWithServer('scripts: requests for many permits', (server) => {
  after(closeBenches);

  /** Commands that the server ran within its scripts, for one request that is granted, extended and given back. */
  async function commandsFor(permits: number): Promise<Record<string, number>> {
    const bench = new ScriptBench(server(), { limit: 2000 });
    // The scripts are loaded.
    await bench.take('w.1');
    await bench.extend('w.1');
    await bench.release('w.1');
    await server().command('CONFIG', 'RESETSTAT');
    const id = permits === 1 ? 'a.1' : `a.1.${permits}`;
    expect((await bench.take(id)).slots).to.have.lengthOf(permits);
    await bench.extend(id);
    await bench.release(id);
    return server().calls();
  }

  it('run the same commands as those for two, as often', async () => {
    const two = await commandsFor(2);
    expect(two).to.include({ evalsha: 3 });
    expect(await commandsFor(2000)).to.deep.equal(two);
  });
});
