import { expect } from 'chai';

import type { Listening } from '../../src/backend.js';
import { describeWithServer } from '../support/require-server.js';
import { closeBenches, granted, ids, ScriptBench } from './script-bench.js';

describeWithServer('scripts: much in one call', (server) => {
  after(closeBenches);

  async function acquireAll(bench: ScriptBench, client: string, count: number): Promise<void> {
    for (let from = 1; from <= count; from += 500) await bench.acquire(ids(client, 500, from));
  }

  for (const waiting of [1500, 4500]) {
    it(`${waiting} waiters get their permits from one new limit`, async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await acquireAll(bench, 'w', waiting);
      await bench.setLimit(waiting + 1);
      const { held, holders } = await bench.inspect();
      expect(held).to.equal(waiting + 1);
      expect(new Set(holders.flatMap(({ slots }) => slots)).size).to.equal(held);
      expect(new Set(holders.map(({ fencingToken }) => fencingToken)).size).to.equal(held);
    });
  }

  it('thousands of waiters are told of their permits, in messages of a bounded length', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await acquireAll(bench, 'a', 2500);
    await acquireAll(bench, 'b', 2500);
    const pushed: (readonly string[])[] = [];
    const names = new Set<string>();
    const listening = await new Promise<Listening | undefined>((resolve) => {
      const opened = bench.backend.listen?.('b', bench.prefix, {
        onGrants: (grants, name) => {
          pushed.push(grants.map(({ id }) => id));
          names.add(name);
        },
        onHealth: () => queueMicrotask(() => resolve(opened)),
      });
    });
    const { grants } = await bench.setLimit(5001, { client: 'a' });
    expect(grants.map(({ id }) => id)).to.deep.equal(ids('a', 2500));
    while (pushed.flat().length < 2500) await bench.redis.ping();
    await listening?.close();
    expect(pushed.flat()).to.have.members(ids('b', 2500));
    expect(Math.max(...pushed.map(({ length }) => length))).to.be.below(500);
    expect([...names]).to.deep.equal([bench.name]);
  });

  it('each second of 10 000 tickets expires: no slot among the others is lost', async () => {
    const bench = new ScriptBench(server(), { limit: 10_000 });
    await acquireAll(bench, 'a', 10_000);
    const odd = ids('a', 10_000).filter((_, i) => i % 2 === 0);
    for (let at = 0; at < odd.length; at += 1000) {
      await bench.extend(odd.slice(at, at + 1000), { ttl: 1 });
    }
    bench.pass(1);
    await bench.extend('a.2');
    await acquireAll(bench, 'b', 5000);
    const { holders } = await bench.inspect();
    const slots = holders.flatMap((holder) => holder.slots);
    expect(slots).to.have.length(10_000);
    expect(new Set(slots).size).to.equal(10_000);
    expect(Math.max(...slots)).to.equal(9999);
  });

  it('tokens of one call rise over the end of a second as over any other moment', async () => {
    for (const digits of [999_994, 999_995, 999_996, 999_999, 0]) {
      const start = 1_700_000_000_000 + digits / 1000;
      const bench = new ScriptBench(server(), { limit: 9, start });
      const { verdicts } = await bench.acquire(ids('a', 5));
      const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
      expect(tokens[0]).to.be.within(start * 1000, start * 1000 + 1_000_010);
      tokens.forEach((token, i) => expect(token - i, `${digits}`).to.equal(tokens[0]));
      bench.pass(5000);
      const next = await bench.take('b.1');
      expect(next.fencingToken).to.be.within((tokens[4] ?? 0) + 1, (start + 5000) * 1000 + 1);
    }
  });
});
