import { expect } from 'chai';

import type { Rate } from '../../src/backends/backend.js';
import { RATE_LIFE_MS } from '../../src/backends/protocol.js';
import { eventually } from '../support/eventually.js';
import type { CallOptions, FixtureOptions } from './port-fixture.js';
import { describeOnBoth, ids, kinds, type PortFixture, request } from './port-fixture.js';

const STEP = 600;
/** One every `STEP`. */
const RATE: Rate = { permits: 100, per: 60_000, burst: 1 };
const ANY: FixtureOptions = { limit: Number.MAX_SAFE_INTEGER };
const HOUR = 3_600_000;

/** As a process that was made with the rate. */
const RATED: CallOptions = { rate: RATE };

describeOnBoth('a rate', (make) => {
  const nextIn = async (one: PortFixture): Promise<number | undefined> =>
    (await one.inspect()).rate?.nextIn;

  const makesRoom: Readonly<Record<string, (one: PortFixture) => Promise<unknown>>> = {
    'a release': (one) => one.release('a.2'),
    'a revocation': (one) => one.revoke('a.2'),
    'a higher limit': (one) => one.setLimit(3),
    'a change of the limit': (one) => one.addPermits(1, 'x.1'),
    'an extension that finds an expiry': (one) => one.extend('other.1'),
  };
  for (const [what, call] of Object.entries(makesRoom)) {
    it(`holds when ${what} makes room, and the head hears when it is next`, async () => {
      const one = make({ limit: 2 });
      const turns = await one.turnsTo('b');
      const rate = { ...RATE, burst: 2 };
      for (const id of ['a.1', 'a.2']) await one.take(id, { rate });
      await one.acquire(['b.1', 'b.2'], { rate });
      if (what.endsWith('expiry')) await one.expire('a.2');
      const at = one.time.now;
      const left = (await nextIn(one)) ?? 0;
      await call(one);
      expect(await one.queue()).to.deep.equal(['b.1', 'b.2']);
      await eventually(() => expect(turns.at(-1)).to.deep.equal({ id: 'b.1', at: at + left }));
      one.pass(left);
      await call(one);
      expect(await one.queue(), 'a call after its time serves it').to.deep.equal(['b.2']);
    });
  }

  it('holds back for as long as before where the clock is set back, and not longer', async () => {
    const one = make(ANY);
    await one.take('a.1.5', RATED);
    one.pass(STEP);
    one.pass(-HOUR);
    expect(await nextIn(one)).to.equal(5 * STEP);
    expect(await one.try('a.2', RATED)).to.equal('busy');
    one.pass(5 * STEP - 1);
    expect(await one.try('a.2', RATED)).to.equal('busy');
    one.pass(1);
    await one.take('a.2', RATED);
    expect(await nextIn(one)).to.equal(STEP);
  });

  it('holds back for no longer where the clock is set back over a change of the rate', async () => {
    for (const pause of [HOUR, 6 * HOUR]) {
      const one = make(ANY);
      await one.take('a.1', { rate: { permits: 1, per: 5 * HOUR, burst: 1 } });
      one.pass(pause);
      await one.setRate(RATE);
      const before = (await nextIn(one)) ?? Infinity;
      one.pass(-pause - 1);
      await one.try('b.1');
      expect(await nextIn(one)).to.be.at.most(before + STEP);
    }
  });

  it('is that of the last caller; a caller that has none obeys it, for a minute or a period', async () => {
    const one = make(ANY);
    await one.take('a.1', { rate: { permits: 1, per: HOUR, burst: 1 } });
    expect(await one.try('x.1')).to.equal('busy');
    expect((await one.inspect()).rate).to.include({ per: HOUR, from: 'caller', nextIn: HOUR });
    one.pass(HOUR / 2);
    // Half of a permit is missing under either rate.
    await one.try('b.1', RATED);
    expect((await one.inspect()).rate).to.include({ per: 60_000, nextIn: STEP / 2 });
    one.pass(STEP / 2);
    await one.take('x.1');
    expect(await one.try('x.2'), 'a caller without one is charged, too').to.equal('busy');
    one.pass(RATE_LIFE_MS - STEP / 2 - 1);
    await one.take('x.2');
    one.pass(1);
    await one.take('x.3');
    await one.take('x.4');
    expect((await one.inspect()).rate).to.equal(undefined);
  });

  it('that no caller has named for long holds no request back under a newer rate', async () => {
    const one = make(ANY);
    await one.acquire(ids('a', 100), { rate: { permits: 1, per: 10_000, burst: 100 } });
    one.pass(RATE_LIFE_MS);
    expect(await one.try('b.1', RATED), '94 permits are missing').to.equal('busy');
    expect(await nextIn(one)).to.equal(94 * STEP);
  });

  it('is remembered as long as a caller names it', async () => {
    const one = make(ANY);
    for (let at = 0; at < 3 * RATE_LIFE_MS; at += RATE_LIFE_MS / 3) {
      await one.take(`a.${at}`, RATED);
      expect(await one.try('x.1')).to.equal('busy');
      one.pass(RATE_LIFE_MS / 3);
    }
  });

  it('that was removed counts as none, whatever callers name, and forgets earlier grants', async () => {
    const one = make(ANY);
    await one.take('a.1', RATED);
    await one.setRate(undefined);
    expect(kinds(await one.acquire(ids('b', 3), RATED))).to.deep.equal(Array(3).fill('granted'));
    await one.setRate({ permits: 1, per: 1000, burst: 1 });
    await one.take('c.1');
    expect(await nextIn(one)).to.equal(1000);
  });

  it('is not passed by a call for several semaphores, all or none', async () => {
    const one = make(ANY);
    await one.setRate(RATE);
    await one.take('a.1');
    expect(await one.acquireTogether('b.1')).to.equal(undefined);
  });

  describe('of costs gives back only what its own grant has left there', () => {
    const budget = { permits: 100, per: 100_000, burst: 100 };
    const ask = async (one: PortFixture, id: string, options: CallOptions = {}) =>
      kinds(await one.acquire([request(id, 'wait', undefined, false, { tokens: 100 })], options));
    const used = async (one: PortFixture) => (await one.inspect()).budgets?.['tokens']?.used;

    /** What may move it between the grant and the release. */
    const changes: Readonly<Record<string, (one: PortFixture) => Promise<unknown>>> = {
      'time alone': async (one) => one.pass(100_000),
      'a faster budget': async (one) => {
        one.pass(50_000);
        await one.setBudget('tokens', { ...budget, per: 1000 });
        one.pass(500);
      },
      'a slower budget': async (one) => {
        one.pass(50_000);
        await one.setBudget('tokens', { ...budget, per: 200_000 });
        one.pass(100_000);
      },
      'none, and another': async (one) => {
        await one.setBudget('tokens', undefined);
        await one.setBudget('tokens', budget);
      },
    };
    for (const [what, change] of Object.entries(changes)) {
      it(`after ${what}, and a clock that is set back`, async () => {
        for (const back of [0, 40_000]) {
          const one = make({ ttl: HOUR });
          await one.setBudget('tokens', budget);
          expect(await ask(one, 'a.1')).to.deep.equal(['granted']);
          await change(one);
          expect(await ask(one, 'b.1')).to.deep.equal(['granted']);
          one.pass(-back);
          await one.release('a.1', { spent: [{ tokens: 0 }] });
          expect(await used(one), `${back} ms back`).to.be.within(99.9, 100);
          await one.release('b.1', { spent: [{ tokens: 30 }] });
          expect(await used(one), `${back} ms back`).to.be.within(29.9, 30);
        }
      });
    }

    it('after a long time in which no call has named the budget', async () => {
      const one = make({ ttl: HOUR });
      const named = { budgets: { tokens: budget } };
      for (const id of ids('a', 5)) {
        expect(await ask(one, id, named)).to.deep.equal(['granted']);
        await one.release(id, { spent: [{ tokens: 0 }] });
      }
      expect(await ask(one, 'b.1', named)).to.deep.equal(['granted']);
      one.pass(250_000);
      expect(await ask(one, 'c.1', named)).to.deep.equal(['granted']);
      await one.release('b.1', { spent: [{ tokens: 0 }] });
      expect(await used(one)).to.equal(100);
    });
  });
});
