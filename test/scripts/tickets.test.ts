import { expect } from 'chai';

import type { PushedGrant } from '../../src/backends/backend.js';
import { describeWithFakeClock } from '../support/require-server.js';
import { closeFixtures, describeOnBoth, granted, ids, RedisFixture } from './port-fixture.js';

describeOnBoth('tickets', (make) => {
  it('have tokens that are the time in microseconds, or the last token plus 1', async () => {
    const [start, behind] = [1_795_236_819_680.065, 3_600_000];
    const one = make({ limit: 2000, time: { now: start } });
    const { verdicts } = await one.acquire(ids('a', 999));
    const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
    expect(tokens).to.deep.equal(ids('a', 999).map((_, i) => start * 1000 + i));
    one.pass(-behind);
    expect((await one.take('b.2')).fencingToken).to.equal(start * 1000 + 999);
    await one.release([...ids('a', 999), 'b.2']);
    expect((await one.take('b.3')).fencingToken).to.equal(start * 1000 + 1000);
    one.pass(2 * behind);
    expect((await one.take('b.4')).fencingToken).to.be.closeTo((start + behind) * 1000, 1);
    // A second that ends is a moment as any other.
    for (const micros of [999_990, 999_999, 0]) {
      const other = make({ limit: 20, time: { now: 1_700_000_000_000 + micros / 1000 } });
      await other.take('z.1');
      const twelve = (await other.acquire(ids('a', 12))).verdicts;
      const [first = NaN, ...rest] = twelve.map((verdict) => granted(verdict).fencingToken);
      expect(rest).to.deep.equal(rest.map((_, i) => first + 1 + i));
      expect((await other.take('b.1')).fencingToken).to.equal(first + 12);
    }
  });

  it('have slots below the limit, where the limit of a caller begins with the digits of another', async () => {
    const one = make({ limit: 10 });
    await one.take('x.1', { limit: 1 });
    await one.acquire(ids('a', 5));
    await one.release('x.1', { limit: 1 });
    const { verdicts } = await one.acquire(ids('b', 2));
    expect(verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[0], [6]]);
  });

  it('are the same for ids of a list that have a ticket already', async () => {
    const one = make({ limit: 9 });
    const first = granted((await one.acquire(ids('a', 2))).verdicts[1]);
    const { verdicts } = await one.acquire(ids('a', 3, 2));
    expect(verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[1], [2], [3]]);
    expect(granted(verdicts[0])).to.deep.equal(first);
    expect(await one.holders()).to.have.members(ids('a', 4));
  });

  it('are granted to thousands in one call, and pushed in messages of bounded length', async () => {
    const one = make({ limit: 1 });
    await one.take('x.1');
    for (const client of ['a', 'b']) {
      for (let from = 1; from <= 2500; from += 500) await one.acquire(ids(client, 500, from));
    }
    const pushed: PushedGrant[] = [];
    await one.subscribe('b', { onGrants: (grants) => pushed.push(...grants) });
    const { grants } = await one.setLimit(5001, { client: 'a' });
    expect(grants.map(({ id }) => id)).to.deep.equal(ids('a', 2500));
    while (pushed.length < 2500) await one.inspect();
    expect(pushed.map(({ id }) => id)).to.have.members(ids('b', 2500));
    const { held, holders } = await one.inspect();
    expect(held).to.equal(5001);
    expect(new Set(holders.flatMap(({ slots }) => slots)).size).to.equal(held);
    expect(new Set(holders.map(({ fencingToken }) => fencingToken)).size).to.equal(held);
  });
});

describeWithFakeClock('tickets of a server whose clock steps back', (server) => {
  after(closeFixtures);

  it('have rising tokens, which are its TIME in microseconds', async () => {
    const one = new RedisFixture(server(), {}, true);
    const time = async (): Promise<number> => {
      const [seconds, micros] = await one.redis.time();
      return Number(seconds) * 1e6 + Number(micros);
    };
    const before = await time();
    const tokens = [(await one.take('a.1')).fencingToken];
    expect(tokens[0]).to.be.within(before, await time());
    for (const id of ['a.2', 'a.3']) {
      await server().shiftClock(-30_000);
      tokens.push((await one.take(id)).fencingToken);
      await one.release(['a.1', 'a.2']);
    }
    expect(tokens).to.deep.equal([...new Set(tokens)].toSorted((a, b) => a - b));
  });
});
