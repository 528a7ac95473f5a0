import { expect } from 'chai';

import { describeWithFakeClock } from '../support/require-server.js';
import type { PortFixture } from './port-fixture.js';
import {
  arrivalOf,
  closeFixtures,
  describeOnBoth,
  granted,
  ids,
  kinds,
  RedisFixture,
  request,
} from './port-fixture.js';

describeOnBoth('tickets', (make) => {
  it('are granted up to the limit, and those that ask for more wait or are refused', async () => {
    const one = make({ limit: 3 });
    expect((await one.acquire([])).verdicts).to.deep.equal([]);
    expect((await one.release([])).released).to.deep.equal([]);
    const reply = await one.acquire(ids('a', 5));
    expect(kinds(reply)).to.deep.equal(['granted', 'granted', 'granted', 'queued', 'queued']);
    expect(await one.try('b.1')).to.equal('busy');
    expect((await one.acquire('c.1.4')).verdicts).to.deep.equal([{ kind: 'over', limit: 3 }]);
    expect(await one.inspect()).to.include({ limit: 3, held: 3, waiting: 2 });
    // Verdicts come in the order of the requests, whatever these ask for.
    const place = arrivalOf(reply.verdicts[4]);
    const mixed = [request('a.6', 'try'), request('a.7'), request('a.5', place), 'a.8.4', 'a.1'];
    const { verdicts } = await one.acquire(mixed);
    const all = ['busy', 'queued', 'queued', 'over', 'granted'];
    expect(verdicts.map(({ kind }) => kind)).to.deep.equal(all);
    expect(arrivalOf(verdicts[2])).to.equal(place).and.below(arrivalOf(verdicts[1]));
  });

  it('get the lowest free slots, over gaps of every shape, and count by their permits', async () => {
    const one = make({ limit: 20 });
    await one.acquire(ids('a', 10));
    await one.release(['a.10', 'a.1', 'a.6', 'a.4']);
    expect((await one.take('b.1.6')).slots).to.deep.equal([0, 3, 5, 9, 10, 11]);
    await one.release(['b.1.6', 'a.2']);
    expect((await one.take('b.2')).slots).to.deep.equal([0]);
    expect((await one.take('b.3.2')).slots).to.deep.equal([1, 3]);
    expect((await one.inspect()).held).to.equal(8);
    const tries = [request('b.4.13', 'try'), request('b.5.12', 'try')];
    expect(kinds(await one.acquire(tries))).to.deep.equal(['busy', 'granted']);
  });

  it('end at their very microsecond, and their slots are used again, lowest first', async () => {
    const one = make({ limit: 5, ttl: 1000 });
    await one.acquire(ids('a', 5));
    await one.extend(['a.1', 'a.3', 'a.5'], { ttl: 5000 });
    one.pass(999.999);
    expect(await one.try('b.1')).to.equal('busy');
    one.pass(0.001);
    expect((await one.inspect()).held).to.equal(3);
    expect((await one.extend('a.2')).extended).to.deep.equal([false]);
    expect((await one.release('a.4')).released).to.deep.equal([false]);
    expect((await one.take('b.1')).slots).to.deep.equal([1]);
    expect((await one.take('b.2')).slots).to.deep.equal([3]);
  });

  it('end at their last expiry, whether that was moved on or back, and by what', async () => {
    const one = make({ limit: 1, ttl: 5000 });
    await one.take('a.1');
    await one.extend('a.1', { ttl: 20_000 });
    one.pass(6000);
    expect(await one.holders()).to.deep.equal(['a.1']);
    await one.extend('a.1', { ttl: 100 });
    one.pass(100);
    await one.take('b.1');
    await one.take('b.1', { ttl: 100 });
    one.pass(100);
    expect(await one.holders()).to.deep.equal([]);
  });

  it('thousands of them are taken, extended, half expired and given back in a few calls', async () => {
    const one = make({ limit: 10_000 });
    for (let from = 1; from < 10_000; from += 1000) await one.acquire(ids('a', 1000, from));
    const odd = ids('a', 10_000).filter((_, i) => i % 2 === 0);
    for (let at = 0; at < odd.length; at += 1000) {
      await one.extend(odd.slice(at, at + 1000), { ttl: 1 });
    }
    one.pass(1);
    expect((await one.extend(['a.1', 'a.2'])).extended).to.deep.equal([false, true]);
    for (let from = 1; from < 5000; from += 1000) await one.acquire(ids('b', 1000, from));
    const slots = (await one.inspect()).holders.flatMap((holder) => holder.slots);
    expect(slots.toSorted((a, b) => a - b)).to.deep.equal([...Array(10_000).keys()]);
    const { released } = await one.release(ids('b', 5000));
    expect(new Set(released)).to.deep.equal(new Set([true]));
  });

  describe('have fencing tokens', () => {
    it('that are the time in microseconds, or one more than the last', async () => {
      const [start, behind] = [1_795_236_819_680.065, 3_600_000];
      const one = make({ limit: 2000, time: { now: start } });
      const { verdicts } = await one.acquire(ids('a', 999));
      const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
      expect(tokens).to.deep.equal(ids('a', 999).map((_, i) => start * 1000 + i));
      expect((await one.take('b.1')).fencingToken).to.equal(start * 1000 + 999);
      one.pass(-behind);
      expect((await one.take('b.2')).fencingToken).to.equal(start * 1000 + 1000);
      await one.release([...ids('a', 999), 'b.1', 'b.2']);
      expect((await one.take('b.3')).fencingToken).to.equal(start * 1000 + 1001);
      one.pass(2 * behind);
      expect((await one.take('b.4')).fencingToken).to.be.closeTo((start + behind) * 1000, 1);
    });

    it('that rise over the end of a second as over any other moment', async () => {
      for (const micros of [999_990, 999_994, 999_999, 0]) {
        const one = make({ limit: 20, time: { now: 1_700_000_000_000 + micros / 1000 } });
        const { verdicts } = await one.acquire(ids('a', 12));
        const [first, ...rest] = verdicts.map((verdict) => granted(verdict).fencingToken);
        expect(rest).to.deep.equal(rest.map((_, i) => (first ?? NaN) + 1 + i));
        expect((await one.take('b.1')).fencingToken).to.equal((rest.at(-1) ?? NaN) + 1);
      }
    });

    it('that rise over grants of every way, and over a loss of all data', async () => {
      const one = make({ limit: 1 });
      const tokens = [(await one.take('a.1')).fencingToken];
      await one.acquire(['b.1', 'b.2']);
      await one.acquire('c.1');
      const told = (grants: readonly { fencingToken: number }[]): void =>
        void tokens.push(...grants.map(({ fencingToken }) => fencingToken));
      told((await one.release('a.1', { client: 'b' })).grants);
      told((await one.release('b.1')).grants);
      await one.release('b.2');
      told((await one.inspect()).holders);
      one.pass(1);
      await one.loseAll();
      tokens.push((await one.take('d.1')).fencingToken);
      expect(tokens).to.have.lengthOf(5);
      expect(tokens).to.deep.equal([...new Set(tokens)].toSorted((a, b) => a - b));
    });
  });

  it('are given back by a call that names as many as there are, and one that is none', async () => {
    const one = make({ limit: 4 });
    await one.acquire(ids('a', 3));
    const { released } = await one.release(['a.1', 'a.2', 'never.1']);
    expect(released).to.deep.equal([true, true, false]);
    expect(await one.standing()).to.deep.equal({ held: { 'a.3': [2] }, queue: [] });
  });

  it('are not extended for one that was lost, whose id was granted again by a late call', async () => {
    const one = make();
    const lost = await one.take('a.1');
    await one.loseAll();
    one.pass(1);
    await one.take('b.1');
    const later = await one.take('a.1');
    const { fencingToken: other } = await one.take('a.2');
    const extend = async (token: number) =>
      (await one.extend(['a.1', 'gone.1', 'a.2'], { fencingTokens: [token, 1, other] })).extended;
    expect(await extend(lost.fencingToken)).to.deep.equal([false, false, true]);
    expect(await extend(later.fencingToken)).to.deep.equal([true, false, true]);
  });

  describe('by a call that comes too late', () => {
    const late: [string, (one: PortFixture, notAfter: number) => Promise<object>][] = [
      ['acquire', (one, notAfter) => one.acquire('a.2', { notAfter })],
      [
        'acquire of what is held and what waits',
        async (one, notAfter) => {
          const reply = await one.acquire(['a.1', 'b.1'], { notAfter });
          return { verdicts: reply.verdicts.slice(1) };
        },
      ],
      ['adopt', (one, notAfter) => one.adopt('a.1', 'c.1', { notAfter })],
      ['a second adopt', (one, notAfter) => one.adopt('d.0', 'd.1', { notAfter })],
      ['setLimit', (one, notAfter) => one.setLimit(5, { notAfter })],
    ];
    for (const [what, call] of late) {
      it(`stay as they are, and it says so: ${what}`, async () => {
        const one = make({ limit: 2 });
        await one.acquire(['a.1', 'd.0']);
        await one.adopt('d.0', 'd.1');
        await one.acquire(['b.1', 'b.2']);
        one.pass(500);
        const before = await one.inspect();
        const reply = await call(one, one.time.now - 0.001);
        expect(JSON.stringify(reply)).to.match(/"late":true|"kind":"late"/);
        expect(await one.inspect()).to.deep.equal(before);
      });
    }

    it('but not at the very microsecond', async () => {
      const now = 1_700_000_000_000.5;
      const one = make({ limit: 1, time: { now } });
      await one.take('a.1', { notAfter: now });
      expect((await one.adopt('a.1', 'b.1', { notAfter: now })).ticket?.before).to.equal('a.1');
      expect((await one.setLimit(3, { notAfter: now })).storedLimit).to.equal(3);
    });

    it('still make room where they expired, and the clients concerned are notified', async () => {
      const one = make({ limit: 1, ttl: 1000 });
      await one.take('x.1');
      await one.acquire('a.1');
      one.pass(1000);
      const { grants } = await one.acquire('a.1', { notAfter: 1 });
      expect(grants.map(({ id }) => id)).to.deep.equal(['a.1']);
      expect(await one.holders()).to.deep.equal(['a.1']);
    });
  });
});

describeWithFakeClock('tickets of a server whose clock steps back', (server) => {
  after(closeFixtures);

  it('have rising tokens, which are its TIME in microseconds', async () => {
    const one = new RedisFixture(server(), { limit: 2 }, true);
    const time = async (): Promise<number> => {
      const [seconds, micros] = await one.redis.time();
      return Number(seconds) * 1e6 + Number(micros);
    };
    const before = await time();
    const first = await one.take('a.1');
    expect(first.fencingToken).to.be.within(before, await time());
    await server().shiftClock(-30_000);
    const second = await one.take('a.2');
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await one.release(['a.1', 'a.2']);
    await server().shiftClock(-30_000);
    expect((await one.take('a.3')).fencingToken).to.be.above(second.fencingToken);
  });
});
