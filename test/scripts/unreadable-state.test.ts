import { expect } from 'chai';

import { WAITER_LEASE } from '../../src/backend.js';
import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, granted, ids, kinds, ScriptBench } from './script-bench.js';

describeWithServer('scripts: a state in meta that nobody can read', (server) => {
  after(closeBenches);

  const damages: [string, (state: string) => string][] = [
    ['with something behind it', (state) => `${state} x`],
    ['with something before it', (state) => `x ${state}`],
    ['in which a number is none', (state) => state.replace(/ \d+$/, ' x')],
    ['of other words', () => 'something else'],
    ['of nothing', () => ''],
  ];
  for (const [what, damage] of damages) {
    it(`${what} is counted anew: nobody loses a permit or a place, none is given twice`, async () => {
      const bench = new ScriptBench(server(), { limit: 4 });
      const meta = bench.keyOf('meta');
      await bench.acquire(ids('a', 4));
      await bench.release('a.2');
      await bench.acquire(['b.1.2', 'b.2']);
      for (const call of [
        () => bench.extend('a.1'),
        () => bench.release('gone.1'),
        () => bench.acquire('b.2'),
      ]) {
        await bench.redis.hset(
          meta,
          'state',
          damage((await bench.redis.hget(meta, 'state')) ?? ''),
        );
        await call();
        expect(await bench.inspect()).to.include({ held: 3, waiting: 2 });
        await bench.expectSafeExpiry(what);
      }
      await bench.redis.hset(meta, 'state', damage((await bench.redis.hget(meta, 'state')) ?? ''));
      const { grants } = await bench.release('a.1', { client: 'b' });
      expect(grants.map(({ id, slots }) => [id, slots])).to.deep.equal([['b.1.2', [0, 1]]]);
      expect(kinds(await bench.acquire('b.2'))).to.deep.equal(['queued']);
    });
  }

  it('lets tokens and places rise from those that stand, also while the clock is behind', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    const damage = (): Promise<number> =>
      bench.redis.hset(bench.keyOf('meta'), 'state', 'something else');
    const { verdicts } = await bench.acquire(ids('a', 3));
    const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
    await damage();
    bench.pass(-1000);
    const next = (await bench.take('b.1')).fencingToken;
    expect(next).to.be.above(Math.max(...tokens));
    const [first = NaN, second = NaN] = (await bench.acquire(['c.1', 'c.2'])).verdicts.map(
      arrivalOf,
    );
    await damage();
    bench.pass(-1000);
    expect(arrivalOf((await bench.acquire('d.1')).verdicts[0])).to.be.above(second);
    expect([first > next, second > first]).to.deep.equal([true, true]);
  });

  it('leaves waiters in the queue for as long as they had', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 1000 });
    await bench.take('a.1');
    await bench.acquire('b.1');
    await bench.redis.hset(bench.keyOf('meta'), 'state', 'something else');
    await bench.extend('gone.1');
    for (const part of ['queue', 'waiters']) {
      expect(await bench.redis.pttl(bench.keyOf(part)), part).to.be.above(WAITER_LEASE);
    }
  });
});
