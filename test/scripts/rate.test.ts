import { expect } from 'chai';

import { RATE_LIFE_MS } from '../../src/backends/protocol.js';
import type { CallOptions, PortFixture } from './port-fixture.js';
import { describeOnBoth, ids, kinds, request } from './port-fixture.js';

const HOUR = 3_600_000;

describeOnBoth('a rate', (make) => {
  it('that no caller has named for long holds no request back under a newer rate', async () => {
    const one = make({ limit: Number.MAX_SAFE_INTEGER });
    await one.acquire(ids('a', 100), { rate: { permits: 1, per: 10_000, burst: 100 } });
    one.pass(RATE_LIFE_MS);
    const rate = { permits: 100, per: 60_000, burst: 1 };
    expect(await one.try('b.1', { rate }), '94 permits are missing').to.equal('busy');
    expect((await one.inspect()).rate).to.include({ nextIn: 94 * 600 });
  });

  it('that is stored as none stays so in an idle semaphore, beside as many budgets as may count', async () => {
    const one = make();
    const slow = { permits: 1, per: HOUR, burst: 1 };
    for (const name of ['a', 'b', 'c', 'd']) await one.setBudget(name, slow);
    await one.setRate(undefined);
    expect(await one.setBudget('e', undefined), 'it counts none').to.not.have.property('full');
    // Another call finds neither tickets nor used units.
    one.pass(2 * RATE_LIFE_MS);
    await one.revoke('never.1');
    const named = { rate: slow, budgets: { e: slow } };
    for (const id of ids('a', 2)) {
      const asked = request(id, 'try', { cost: { e: 1 } });
      expect(kinds(await one.acquire([asked], named)), id).to.deep.equal(['granted']);
    }
    const shown = await one.inspect();
    expect(shown).to.not.have.property('rate');
    expect(shown.budgets).to.have.all.keys('a', 'b', 'c', 'd');
  });

  it('of costs is shown under each name that it may have', async () => {
    const one = make();
    for (const name of ['__proto__', 'constructor', '-']) {
      await one.setBudget(name, { permits: 10, per: HOUR, burst: 10 });
    }
    const { budgets = {} } = await one.inspect();
    expect(Object.keys(budgets)).to.have.members(['__proto__', 'constructor', '-']);
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

    it('after debts of centuries, under terms that change', async () => {
      const one = make({ limit: 300 });
      await one.setBudget('tokens', budget);
      await one.acquire(ids('a', 200));
      for (const id of ids('a', 200)) {
        one.pass(0.001);
        await one.release(id, { spent: [{ tokens: Number.MAX_SAFE_INTEGER }] });
        await one.setBudget('tokens', { ...budget, per: budget.per + 1000 * (id.length % 2) });
        expect((await one.inspect()).budgets?.['tokens']?.used).to.be.above(1e8);
      }
      await one.setBudget('tokens', undefined);
      await one.setBudget('tokens', budget);
      await take(one, 'b.1');
      expect(await usedAfter(one, 'b.1', 30)).to.be.within(29.9, 30);
    });

    it('after more debts than the server can count', async () => {
      const one = make({ limit: 100 });
      await one.setBudget('tokens', budget);
      for (let i = 0; i < 101; i++) {
        const all = ids(`c${i}`, 100);
        await one.acquire(all);
        await one.release(all, { spent: all.map(() => ({ tokens: Number.MAX_SAFE_INTEGER })) });
      }
      expect((await one.inspect()).budgets?.['tokens']?.used).to.be.within(9e9, 1e10);
      await one.setBudget('tokens', undefined);
      await one.setBudget('tokens', budget);
      await take(one, 'b.1');
      expect(await usedAfter(one, 'b.1', 30)).to.be.within(29.9, 30);
    });

    it('after terms under which the used units take longer than the server can count', async () => {
      const one = make();
      const large = { permits: 1_000_000, per: 60_000, burst: 1_000_000 };
      await one.setBudget('tokens', large);
      const asked = request('a.1', 'try', { cost: { tokens: 1_000_000 } });
      expect(kinds(await one.acquire([asked]))).to.deep.equal(['granted']);
      await one.setBudget('tokens', { permits: 1, per: 31_536_000_000, burst: 1 });
      expect((await one.inspect()).budgets?.['tokens']?.used).to.be.above(30);
      const next = request('b.1', 'try', { cost: { tokens: 1 } });
      expect(kinds(await one.acquire([next]))).to.deep.equal(['busy']);
    });

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
