import { expect } from 'chai';

import { RATE_LIFE_MS } from '../../src/backends/protocol.js';
import type { CallOptions, FixtureOptions } from './port-fixture.js';
import { describeOnBoth, ids, kinds, type PortFixture, request } from './port-fixture.js';

const STEP = 600;
const HOUR = 3_600_000;
const ANY: FixtureOptions = { limit: Number.MAX_SAFE_INTEGER };

/** As a process that was made with the rate of one every `STEP`. */
const RATED: CallOptions = { rate: { permits: 100, per: 60_000, burst: 1 } };

describeOnBoth('a rate', (make) => {
  const nextIn = async (one: PortFixture): Promise<number | undefined> =>
    (await one.inspect()).rate?.nextIn;

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

  it('keeps the lease of a client that knows its turn and asks for a request that is refused', async () => {
    const one = make({ limit: 9, ttl: 300_000 });
    const options = { rate: { permits: 1, per: 60_000, burst: 1 }, maxWaiting: 2 };
    await one.take('a.1', options);
    for (const id of ['b.1', 'c.1']) await one.acquire(id, options);
    for (const [id, pause] of [
      ['b.2', 20_000],
      ['d.1', 40_000],
    ] as const) {
      expect(kinds(await one.acquire(id, options))).to.deep.equal(['full']);
      expect(await one.queue()).to.deep.equal(['b.1', 'c.1']);
      one.pass(pause);
    }
    await one.acquire('c.1', options);
    expect(await one.holders()).to.deep.equal(['a.1', 'b.1']);
  });

  describe('of costs gives back only what its own grant has left there', () => {
    const budget = { permits: 100, per: 100_000, burst: 100 };
    /** Asks for all of the budget. */
    const take = async (one: PortFixture, id: string, options: CallOptions = {}): Promise<void> => {
      const asked = request(id, 'wait', { cost: { tokens: 100 } });
      expect(kinds(await one.acquire([asked], options))).to.deep.equal(['granted']);
    };
    const usedAfter = async (one: PortFixture, id: string, tokens: number) => {
      await one.release(id, { spent: [{ tokens }] });
      return (await one.inspect()).budgets?.['tokens']?.used;
    };

    /** What may move it between the grant and the release: another period for some time. */
    for (const [what, per, pause] of [
      ['time alone', undefined, 100_000],
      ['a faster budget', 1000, 500],
      ['a slower budget', 200_000, 100_000],
    ] as const) {
      it(`after ${what}, and a clock that is set back`, async () => {
        for (const back of [0, 40_000]) {
          const one = make({ ttl: HOUR });
          await one.setBudget('tokens', budget);
          await take(one, 'a.1');
          if (per !== undefined) {
            one.pass(50_000);
            await one.setBudget('tokens', { ...budget, per });
          }
          one.pass(pause);
          await take(one, 'b.1');
          one.pass(-back);
          expect(await usedAfter(one, 'a.1', 0), `${back} ms back`).to.be.within(99.9, 100);
          expect(await usedAfter(one, 'b.1', 30), `${back} ms back`).to.be.within(29.9, 30);
        }
      });
    }

    it('after a long time in which no call has named the budget', async () => {
      const one = make({ ttl: HOUR });
      const named = { budgets: { tokens: budget } };
      for (const id of ids('a', 5)) {
        await take(one, id, named);
        await usedAfter(one, id, 0);
      }
      await take(one, 'b.1', named);
      one.pass(250_000);
      await take(one, 'c.1', named);
      expect(await usedAfter(one, 'b.1', 0)).to.equal(100);
    });
  });
});
