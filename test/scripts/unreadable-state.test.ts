import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { closeBenches, ids, kinds, ScriptBench } from './script-bench.js';

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
});
