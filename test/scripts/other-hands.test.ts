import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, ids, request, ScriptBench } from './script-bench.js';

describeWithServer('scripts: keys that other hands changed', (server) => {
  after(closeBenches);

  const bench = (limit = 50): ScriptBench => new ScriptBench(server(), { limit });

  async function heldByState(one: ScriptBench): Promise<number> {
    const state = (await one.redis.hget(one.keyOf('meta'), 'state')) ?? '';
    return Number(state.split(' ')[1]);
  }

  for (const [what, asked] of [
    ['one', ['b.1']],
    ['ten', ids('b', 10)],
    ['a try', [request('b.1', 'try')]],
  ] as const) {
    it(`tickets that were evicted have an expiry again with the next grant (${what})`, async () => {
      const one = bench();
      await one.take('a.1');
      await one.redis.del(one.keyOf('tickets'));
      await one.acquire(asked);
      await one.expectSafeExpiry('the grant');
    });
  }

  it('tickets whose records were deleted go, and those that follow have an expiry', async () => {
    const one = bench();
    await one.acquire(ids('a', 3), { ttl: 1000 });
    await one.redis.hdel(one.keyOf('meta'), ...ids('a', 3));
    one.pass(1000);
    await one.take('b.1');
    await one.expectSafeExpiry('the grant');
    expect((await one.inspect()).holders.map(({ id }) => id)).to.deep.equal(['b.1']);
  });

  for (const size of [7, 10]) {
    it(`an acquire of ${size} that runs again after an eviction takes no permit twice`, async () => {
      const one = bench();
      await one.acquire(ids('a', size));
      await one.redis.del(one.keyOf('tickets'));
      await one.acquire(ids('a', size));
      expect(await heldByState(one)).to.equal(size);
    });
  }

  it('a release of one takes no other, though the state says that it is the only one', async () => {
    const one = bench();
    await one.take('a.1');
    await one.take('a.2');
    const meta = one.keyOf('meta');
    const state = (await one.redis.hget(meta, 'state')) ?? '';
    await one.redis.hset(meta, 'state', state.replace(/^(\d+) 2/, '$1 1'));
    expect((await one.release('a.1')).released).to.deep.equal([true]);
    expect((await one.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.2']);
  });

  it('a release that names a field of meta beside a ticket takes no other ticket', async () => {
    const one = bench();
    await one.acquire(['a.1', 'a.2']);
    expect((await one.release(['a.1', 'layout'])).released).to.deep.equal([true, false]);
    expect((await one.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.2']);
  });

  it('a release of what is gone is answered at maxmemory, whatever limit its caller has', async () => {
    const one = bench();
    await one.acquire(['a.1', 'a.2']);
    await one.release('a.1');
    await one.redis.config('SET', 'maxmemory', '1');
    try {
      expect((await one.release('a.1')).released).to.deep.equal([false]);
      expect((await one.release('a.1', { limit: 51 })).released).to.deep.equal([false]);
    } finally {
      await one.redis.config('SET', 'maxmemory', '0');
    }
  });

  it('the label of a request whose queue expired is gone with the next call', async () => {
    const one = bench(4);
    await one.take('b.1');
    expect(arrivalOf((await one.acquire('b.2.4')).verdicts[0])).to.be.above(0);
    await one.redis.del(one.keyOf('queue'), one.keyOf('waiters'));
    expect(await one.fields()).to.include('b.2.4');
    one.pass(60_000);
    await one.release('x.1');
    expect(await one.fields()).not.to.include('b.2.4');
  });

  it('an adoption that runs again, after a late acquire of the old id, counts nothing twice', async () => {
    const one = bench(9);
    await one.take('a.1');
    await one.adopt('a.1', 'b.1');
    await one.acquire('a.1');
    await one.adopt('a.1', 'b.1');
    expect(await heldByState(one)).to.equal((await one.inspect()).held);
  });
});
