import { expect } from 'chai';

import type { Semaphore, SemaphoreOptions } from '../../../src/index.js';
import { AcquireTimeoutError, KeyedSemaphore, Mutex } from '../../../src/index.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup, untilState } from '../scope.js';

const HOUR = 3_600_000;
/** So little in so long that no test sees any of it come back. */
const RATE = { permits: 1, per: HOUR };
const BUDGET = { amount: 1000, per: 720 * HOUR };

interface Rule {
  readonly options: Partial<SemaphoreOptions>;
  readonly cost?: Record<string, number>;
  /** Lets that many requests through; without a number: all. */
  readonly set: (by: Semaphore, count?: 1 | 2) => Promise<void>;
}

const RULES: Readonly<Record<string, Rule>> = {
  rate: {
    options: { rate: RATE },
    set: (by, count) => by.setRate(count && { ...RATE, burst: count }),
  },
  budgets: {
    options: { budgets: { tokens: BUDGET } },
    cost: { tokens: 600 },
    set: (by, count) => by.setBudget('tokens', count && { ...BUDGET, burst: 600 * count }),
  },
  groupLimit: { options: { groupLimit: 1 }, set: (by, count) => by.setGroupLimit(count) },
};

/** How much of each budget is used, in whole units. */
async function usedOf(semaphore: Semaphore): Promise<Record<string, number>> {
  const { budgets = {} } = await semaphore.inspect();
  const used = Object.entries(budgets).map(([name, budget]) => [name, Math.round(budget.used)]);
  return Object.fromEntries(used) as Record<string, number>;
}

export const ruleCases = caseGroup('rates, budgets and group limits', ['operator calls'], (it) => {
  it('a rate holds back every process, whatever is released, also beside no limit', async (scope) => {
    const rate = { ...RATE, burst: 20 };
    const [here, there] = scope.pair({ limit: Infinity, rate });
    const before = (await here.inspect()).rate;
    expect(before).to.deep.equal({ ...rate, from: 'options', nextIn: 0 });
    expect(await scope.elsewhere().inspect()).not.to.have.property('rate');
    const asked = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? here : there).acquire());
    const handles = await Promise.all(asked);
    expect(new Set(handles.map(({ slot }) => slot)).size).to.equal(20);
    expect(await there.inspect()).to.include({ held: 20, limit: Number.MAX_SAFE_INTEGER });
    for (const handle of handles) await handle.release();
    for (const by of [here, there]) {
      expect(await by.tryAcquire()).to.equal(null);
      await errorOf(by.acquire(0), AcquireTimeoutError);
    }
    const after = (await there.inspect()).rate;
    expect(after).to.include({ ...rate, from: 'caller' });
    expect(after?.nextIn).to.be.within(1, HOUR);
  });

  it('a rate counts for a mutex and for each key', async (scope) => {
    const { name } = scope;
    const options = { name, limit: Infinity, rate: RATE };
    const mutexes = scope.inBoth((at) => new Mutex(at, `${name} mutex`, { rate: RATE }));
    await mutexes[0].use(() => {});
    expect(await mutexes[1].tryAcquire()).to.equal(null);
    const keyed = scope.inBoth((at) => new KeyedSemaphore(at, options));
    await keyed[0].use('one', () => {});
    expect(await keyed[1].tryAcquire('one')).to.equal(null);
    expect(await keyed[1].tryAcquire('other')).not.to.equal(null);
    const locks = scope.keyed({ name: `${name}-keys`, rate: RATE });
    await locks[0].use(['one', 'two'], () => {});
    expect(await locks[1].tryAcquire(['two', 'three'])).to.equal(null);
  });

  it('a stored rule counts for every process, and a change wakes the waiters that it lets through', async (scope) => {
    for (const [part, { options, cost, set }] of Object.entries(RULES)) {
      const name = scope.freshName();
      const [here, there] = scope.pair({ limit: 9 }, name);
      const ask = (by: Semaphore) => by.acquire(cost === undefined ? {} : { cost });
      await set(there, 1);
      await ask(here);
      const waiting = [here, there, here].map(ask);
      await untilState(there, { held: 1, waiting: 3 });
      expect(JSON.stringify(await here.inspect()), part).to.match(/"from":"set|"groupLimit":1/);
      await set(here, 2);
      await Promise.race(waiting);
      await untilState(there, { held: 2, waiting: 2 });
      await set(there);
      await Promise.all(waiting);
      const other = scope.elsewhere({ limit: 9, ...options }, name);
      expect(await other.inspect()).not.to.have.property(part);
      expect(await other.tryAcquire()).not.to.equal(null);
    }
  });

  it('budgets charge all costs or none, let a cost above the burst pass when full, and settle the spending', async (scope) => {
    const budgets = { tokens: BUDGET, images: { ...BUDGET, amount: 2 } };
    const [here, there] = scope.pair({ limit: 9, budgets });
    const aboveBurst = { cost: { tokens: 5000 }, timeout: 0 };
    await here.use(async (handle) => {
      await errorOf(there.acquire({ cost: { tokens: 1 }, timeout: 0 }), AcquireTimeoutError);
      expect(await there.tryUse(() => 'costs nothing')).to.include({ ran: true });
      handle.spent = { tokens: 0 };
    }, aboveBurst);
    const first = await here.acquire({ cost: { tokens: 900, images: 1 }, timeout: 0 });
    for (const cost of [{ tokens: 200 }, { tokens: 500, images: 1 }, { tokens: 1, images: 2 }]) {
      const { attempts } = await errorOf(there.acquire({ cost, timeout: 0 }), AcquireTimeoutError);
      expect(attempts).to.equal(1);
      expect(await there.tryAcquire({ cost })).to.equal(null);
    }
    expect(await usedOf(there), 'all or none').to.deep.equal({ tokens: 900, images: 1 });
    const shown = (await there.inspect()).budgets?.['tokens'];
    expect(shown).to.include({ ...BUDGET, burst: 1000, from: 'caller' });
    const waiting = there.acquire({ cost: { tokens: 600 } });
    await scope.untilWaiting(1);
    const released = [300, 0].map((tokens) => first.release({ spent: { tokens } }));
    expect(await Promise.all(released), 'settled once').to.deep.equal([true, true]);
    const second = await waiting;
    expect(await usedOf(here)).to.include({ tokens: 900 });
    second.spent = { tokens: 700 };
    await second.release();
    expect(await usedOf(here), 'a debt').to.include({ tokens: 1000 });
    const spend = (cost: Record<string, number>) =>
      there.tryUse((handle) => void (handle.spent = { images: 0 }), { cost });
    expect(await spend({ images: 2 })).to.deep.equal({ ran: false });
    expect(await spend({ images: 1 })).to.deep.equal({ ran: true, result: undefined });
    expect(await usedOf(here)).to.deep.equal({ tokens: 1000, images: 1 });
  });

  it('budgets are four at most, stored or named, and a fifth is refused by name', async (scope) => {
    const [a, b, c, d] = [BUDGET, BUDGET, BUDGET, BUDGET];
    const [here, there] = scope.pair({ limit: 9 });
    for (const name of ['c', 'a', 'b']) await here.setBudget(name, BUDGET);
    await scope.elsewhere({ limit: 9, budgets: { d } }).acquire({ cost: { d: 1 } });
    const fifth = await errorOf(there.setBudget('e', BUDGET), RangeError);
    expect(fifth).to.include({ code: 'INVALID_ARGUMENT' });
    expect(fifth).to.match(/ name: expected a budget among the 4 .* \(a, b, c, d\), got "e"/);
    expect(Object.keys(await usedOf(here))).to.have.members(['a', 'b', 'c', 'd']);
    // A budget may change, and a removed budget makes room.
    await there.setBudget('a', { ...BUDGET, amount: 5 });
    expect((await here.inspect()).budgets?.['a']).to.include({ amount: 5 });
    await there.setBudget('a', undefined);
    await there.setBudget('e', BUDGET);
    // The budgets of the object count, though no call has named them yet.
    const named = scope.elsewhere({ limit: 9, budgets: { a, b, c, d } });
    expect(await errorOf(named.setBudget('f', BUDGET), RangeError)).to.match(/got "f"/);
  });

  it('a group at its limit is stepped over until a permit of the group comes back', async (scope) => {
    const [here, there] = scope.pair({ limit: 5, groupLimit: 2 });
    const group = 'a b;|,100%';
    const first = await here.acquire({ group });
    expect(await there.tryAcquire({ group, permits: 2 }), 'all or none').to.equal(null);
    await there.acquire({ group });
    expect(await here.tryAcquire({ group })).to.equal(null);
    const waiting = [here.acquire({ group }), there.acquire({ group })];
    await scope.untilWaiting(2);
    const other = await there.acquire({ group: 'other', timeout: 5000 });
    await here.acquire(5000);
    const plain = await there.tryAcquire();
    const { holders, ...state } = await here.inspect();
    expect(state).to.include({ held: 5, waiting: 2, groupLimit: 2 });
    const groups = [group, group, 'other', undefined, undefined];
    expect(holders.map((holder) => holder.group)).to.have.members(groups);
    await other.release();
    expect(await here.tryAcquire(), 'no group is one group').to.equal(null);
    await plain?.release();
    await untilState(here, { held: 3, waiting: 2 });
    await first.release();
    await Promise.race(waiting);
    await untilState(here, { held: 3, waiting: 1 });
    const tooMany = await errorOf(there.acquire({ group: 'b', permits: 3 }), RangeError);
    expect(tooMany).to.match(/ permits: expected at most .*, 2 .*, got 3/);
  });
});
