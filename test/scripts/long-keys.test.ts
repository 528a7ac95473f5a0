import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { closeBenches, ids, request, ScriptBench } from './script-bench.js';

const TABLES = { tickets: 'skiplist', queue: 'skiplist', meta: 'hashtable' } as const;

// Redis would search lists of up to 128 tickets and 512 fields from their start, at each call.
describeWithServer('scripts: keys that have 16 members', (server) => {
  after(closeBenches);

  async function forms(bench: ScriptBench, ...parts: (keyof typeof TABLES)[]): Promise<boolean[]> {
    const all = parts.map(async (part) => {
      const form = await bench.redis.object('ENCODING', bench.keyOf(part));
      return form === TABLES[part];
    });
    return Promise.all(all);
  }

  const ways = {
    'with room for all': (count: number, from: number) => ids('a', count, from),
    'tried for': (count: number, from: number) =>
      ids('a', count, from).map((id) => request(id, 'try')),
  };
  for (const [how, asks] of Object.entries(ways)) {
    for (const last of [1, 2, 9]) {
      it(`are tables from the ${last} on that make them 16 tickets, ${how}`, async () => {
        const bench = new ScriptBench(server(), { limit: 100 });
        await bench.acquire(asks(16 - last, 1));
        expect(await forms(bench, 'tickets', 'meta')).to.deep.equal([false, false]);
        await bench.acquire(asks(last, 17 - last));
        expect(await forms(bench, 'tickets', 'meta')).to.deep.equal([true, true]);
        expect(await bench.redis.zcard(bench.keyOf('tickets'))).to.equal(16);
        expect((await bench.inspect()).held).to.equal(16);
      });
    }
  }

  for (const last of [1, 9]) {
    it(`are tables from the ${last} on that make them 16 who wait`, async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire(ids('a', 16 - last));
      expect(await forms(bench, 'queue', 'meta')).to.deep.equal([false, false]);
      await bench.acquire(ids('a', last, 17 - last));
      expect(await forms(bench, 'queue', 'meta')).to.deep.equal([true, true]);
      expect(await bench.queue()).to.deep.equal(ids('a', 16));
    });
  }
});
