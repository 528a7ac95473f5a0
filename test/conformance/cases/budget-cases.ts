import { expect } from 'chai';

import { AcquireTimeoutError } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { type CaseGroup } from '../case-group.js';
import { untilState } from '../scope.js';

/** So little in an hour that no test sees any of it come back. */
const HOURLY = { amount: 1000, per: 3_600_000 };
const BUDGETS = { tokens: HOURLY };

export const budgetCases: CaseGroup = {
  title: 'budgets and group limits',
  needs: ['operator calls'],
  cases: {
    'charge the costs of a request, all or none, and settle its spending': async (scope) => {
      const budgets = { ...BUDGETS, images: { ...HOURLY, amount: 2 } };
      const [here, there] = scope.pair({ limit: 9, budgets });
      await here.use((handle) => void (handle.spent = { tokens: 0 }), { cost: { tokens: 800 } });
      const first = await here.acquire({ cost: { tokens: 900, images: 1 }, timeout: 0 });
      await errorOf(there.acquire({ cost: { tokens: 200 }, timeout: 0 }), AcquireTimeoutError);
      const none = await errorOf(
        there.acquire({ cost: { tokens: 500, images: 1 }, timeout: 0 }),
        AcquireTimeoutError,
      );
      expect(none.attempts).to.equal(1);
      const before = (await there.inspect()).budgets;
      expect(before?.['tokens']?.used).to.be.within(899, 900);
      expect(before?.['images']?.used, 'all or none').to.be.within(0.9, 1);
      expect(before?.['tokens']).to.include({ ...HOURLY, burst: 1000, from: 'caller' });
      const waiting = there.acquire({ cost: { tokens: 600 } });
      await scope.untilWaiting(1);
      const released = [300, 0].map((tokens) => first.release({ spent: { tokens } }));
      expect(await Promise.all(released), 'settled once').to.deep.equal([true, true]);
      const second = await waiting;
      expect((await here.inspect()).budgets?.['tokens']?.used).to.be.within(898, 900);
      second.spent = { tokens: 700 };
      await second.release();
      expect((await here.inspect()).budgets?.['tokens']?.used, 'a debt').to.be.within(998, 1000);
    },

    'charge a try in full or not at all, and give null while the rate or a budget refuses it':
      async (scope) => {
        const per = 31_536_000_000;
        const budgets = { tokens: { amount: 1000, per }, images: { amount: 2, per } };
        const rate = { permits: 2, burst: 2, per };
        const [here, there] = scope.pair({ limit: 9, budgets, rate });
        const first = await here.tryAcquire({ cost: { tokens: 900, images: 1 } });
        expect(await there.tryAcquire({ cost: { tokens: 200 } })).to.equal(null);
        expect(await there.tryAcquire({ cost: { tokens: 50, images: 2 } })).to.equal(null);
        const used = async () => {
          const state = (await there.inspect()).budgets;
          return [state?.['tokens'], state?.['images']].map((one) => Math.round(one?.used ?? NaN));
        };
        expect(await used(), 'all or none').to.deep.equal([900, 1]);
        await first?.release({ spent: { tokens: 300 } });
        const spend = (cost: Record<string, number>) =>
          there.tryUse((handle) => void (handle.spent = { tokens: 100 }), { cost });
        expect(await spend({ tokens: 800 })).to.deep.equal({ ran: false });
        expect(await spend({ tokens: 600 })).to.deep.equal({ ran: true, result: undefined });
        expect(await used(), 'settled').to.deep.equal([400, 1]);
        expect(await here.tryAcquire({ cost: { images: 1 } }), 'no rate').to.equal(null);
        expect(await used()).to.deep.equal([400, 1]);
        expect(await here.inspect()).to.include({ held: 0, waiting: 0 });
      },

    'a cost above the burst passes when the budget is full': async (scope) => {
      const [here, there] = scope.pair({ limit: 9, budgets: BUDGETS });
      await (await here.acquire({ cost: { tokens: 5000 }, timeout: 0 })).release();
      await errorOf(there.acquire({ cost: { tokens: 1 }, timeout: 0 }), AcquireTimeoutError);
      expect(await there.tryAcquire(), 'costs nothing').not.to.equal(null);
    },

    'count for every process once they are stored, and wake the waiters that they let through':
      async (scope) => {
        const [here, there] = scope.pair({ limit: 9 });
        await there.setBudget('tokens', HOURLY);
        const ask = () => here.acquire({ cost: { tokens: 600 } });
        await ask();
        const waiting = ask();
        await scope.untilWaiting(1);
        expect((await here.inspect()).budgets?.['tokens']?.from).to.equal('setBudget');
        await there.setBudget('tokens', undefined);
        await waiting;
        expect(await here.inspect()).not.to.have.property('budgets');
      },

    'are four at most, stored or named, and a fifth is refused by name': async (scope) => {
      const [a, b, c, d] = [HOURLY, HOURLY, HOURLY, HOURLY];
      const [here, there] = scope.pair({ limit: 9 });
      for (const name of ['c', 'a', 'b']) await here.setBudget(name, HOURLY);
      await scope.elsewhere({ limit: 9, budgets: { d } }).acquire({ cost: { d: 1 } });
      const { message, ...rest } = await errorOf(there.setBudget('e', HOURLY), RangeError);
      expect(message).to.match(/^name: expected a budget among the 4 .* \(a, b, c, d\), got "e"/);
      expect(rest).to.include({ code: 'INVALID_ARGUMENT' });
      const { budgets = {} } = await here.inspect();
      expect(Object.keys(budgets)).to.have.members(['a', 'b', 'c', 'd']);
      // A budget may change, and a removed budget makes room.
      await there.setBudget('a', { ...HOURLY, amount: 5 });
      expect((await here.inspect()).budgets?.['a']).to.include({ amount: 5 });
      await there.setBudget('a', undefined);
      await there.setBudget('e', HOURLY);
      // The budgets of the object count, though no call has named them yet.
      const named = scope.elsewhere({ limit: 9, budgets: { a, b, c, d } });
      expect((await errorOf(named.setBudget('f', HOURLY), RangeError)).message).to.include('"f"');
    },

    'a group at its limit is stepped over until a permit of the group comes back': async (
      scope,
    ) => {
      const [here, there] = scope.pair({ limit: 5, groupLimit: 2 });
      const group = 'a b;|,100%';
      const first = await here.acquire({ group });
      await there.acquire({ group });
      const waiting = [here.acquire({ group }), there.acquire({ group })];
      await scope.untilWaiting(2);
      const other = await there.acquire({ group: 'other', timeout: 5000 });
      const plain = [await here.acquire(5000), await there.acquire(5000)];
      const state = await here.inspect();
      expect(state).to.include({ held: 5, waiting: 2, groupLimit: 2 });
      const groups = state.holders.map((holder) => holder.group);
      expect(groups.filter((one) => one === group)).to.have.length(2);
      for (const handle of [other, ...plain]) await handle.release();
      await untilState(here, { held: 2, waiting: 2 });
      await first.release();
      await Promise.race(waiting);
      await untilState(here, { held: 2, waiting: 1 });
      await there.setGroupLimit(3);
      await Promise.all(waiting);
      await here.setGroupLimit(undefined);
      const removed = await scope.elsewhere({ limit: 5, groupLimit: 1 }).inspect();
      expect(removed).not.to.have.property('groupLimit');
    },

    'a try of a group at its limit gives null, and other groups get permits beside its waiters':
      async (scope) => {
        const [here, there] = scope.pair({ limit: 4, groupLimit: 2 });
        const first = await here.tryAcquire({ group: 'a' });
        expect(await there.tryAcquire({ group: 'a', permits: 2 }), 'all or none').to.equal(null);
        const second = await there.tryAcquire({ group: 'a' });
        expect(await here.tryAcquire({ group: 'a' })).to.equal(null);
        const waiting = there.acquire({ group: 'a' });
        await scope.untilWaiting(1);
        const other = await here.tryAcquire({ group: 'b' });
        const plain = await there.tryAcquire();
        const { holders, ...state } = await here.inspect();
        expect(state).to.include({ held: 4, waiting: 1 });
        expect(holders.map(({ group }) => group)).to.have.members(['a', 'a', 'b', undefined]);
        for (const handle of [first, other, plain]) await handle?.release();
        await waiting;
        expect(await there.tryAcquire({ group: 'a' })).to.equal(null);
        await second?.release();
        expect(await there.tryAcquire({ group: 'a' })).not.to.equal(null);
      },

    'requests without a group are one group, and more permits than the group limit are refused':
      async (scope) => {
        const [here, there] = scope.pair({ limit: 5, groupLimit: 1 });
        await here.acquire();
        expect(await there.tryAcquire()).to.equal(null);
        const error = await errorOf(there.acquire({ group: 'a', permits: 2 }), RangeError);
        expect(error.message).to.match(/^permits: expected at most .*, 1 .*, got 2/);
        expect(await there.acquire({ group: 'a', timeout: 0 })).to.be.an('object');
      },
  },
};
