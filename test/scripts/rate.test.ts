import { expect } from 'chai';

import type { Rate } from '../../src/backends/backend.js';
import { RATE_LIFE_MS } from '../../src/backends/protocol.js';
import { eventually } from '../support/eventually.js';
import { only } from '../support/only.js';
import type { CallOptions, FixtureOptions } from './port-fixture.js';
import { describeOnBoth, granted, ids, kinds, type PortFixture, request } from './port-fixture.js';

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

  it('grants as many at once as the burst after a pause, then a steady rate', async () => {
    const one = make(ANY);
    const options = { rate: { ...RATE, burst: 3 } };
    const many = await one.acquire(ids('a', 5), options);
    expect(kinds(many)).to.deep.equal(['granted', 'granted', 'granted', 'queued', 'queued']);
    expect(many.askAgainAt).to.equal(one.time.now + STEP);
    one.pass(STEP);
    const next = await one.acquire([request('a.4'), request('a.5')], options);
    expect(kinds(next)).to.deep.equal(['granted', 'queued']);
    one.pass(50 * STEP);
    expect(await nextIn(one), 'nothing is saved beyond the burst').to.equal(0);
    await one.release([...ids('a', 5)]);
    expect(kinds(await one.acquire(ids('b', 5), options)).slice(0, 4)).to.deep.equal([
      'granted',
      'granted',
      'granted',
      'queued',
    ]);
  });

  it('keeps the lease of a client until its turn, which need not ask before', async () => {
    const one = make(ANY);
    const slow = { rate: { permits: 1, per: 60_000, burst: 1 } };
    await one.take('a.1', slow);
    const reply = await one.acquire('b.1', slow);
    expect(reply).to.include({ isTurn: true, askAgainAt: one.time.now + 60_000 });
    one.pass(59_999);
    expect((await one.acquire('c.1', slow)).isTurn).to.equal(true);
    one.pass(1);
    await one.acquire('c.1', slow);
    expect(await one.holders()).to.deep.equal(['b.1']);
    one.pass(5001);
    await one.acquire('d.1', slow);
    expect(await one.queue()).to.include('c.1');
  });

  it('keeps the order: a newcomer at the time of the next permit does not pass the waiters', async () => {
    const one = make(ANY);
    await one.take('a.1', RATED);
    await one.acquire('b.1.2', RATED);
    await one.acquire('c.1', RATED);
    one.pass(STEP);
    expect(await one.try('d.1', RATED), 'the head has it').to.equal('busy');
    expect(await one.holders()).to.deep.equal(['a.1', 'b.1.2']);
    one.pass(STEP);
    expect(await one.try('d.1', RATED)).to.equal('busy');
    one.pass(STEP);
    expect(kinds(await one.acquire('d.1', RATED))).to.deep.equal(['queued']);
    expect(await one.holders()).to.deep.equal(['a.1', 'b.1.2', 'c.1']);
  });

  it('is charged once where a call runs twice, and is not given back with the permit', async () => {
    const one = make(ANY);
    const first = await one.take('a.1', RATED);
    const again = granted((await one.acquire('a.1', RATED)).verdicts[0]);
    expect(again).to.deep.equal(first);
    expect(await nextIn(one)).to.equal(STEP);
    await one.release('a.1');
    expect(await nextIn(one)).to.equal(STEP);
    expect(await one.try('a.2', RATED)).to.equal('busy');
  });

  for (const [what, call] of [
    ['a release', (one: PortFixture) => one.release('a.2')],
    ['a revocation', (one: PortFixture) => one.revoke('a.2')],
    ['a higher limit', (one: PortFixture) => one.setLimit(3)],
    ['a change of the limit', (one: PortFixture) => one.addPermits(1, 'x.1')],
    ['an expiry that an extension finds', (one: PortFixture) => one.extend('nobody.1')],
  ] as const) {
    it(`holds when ${what} makes room, and the head hears when it is next`, async () => {
      const one = make({ limit: 2 });
      const turns = await one.turnsTo('b');
      await one.take('a.1', { rate: { ...RATE, burst: 2 } });
      await one.take('a.2', { rate: { ...RATE, burst: 2 } });
      await one.acquire(['b.1', 'b.2'], { rate: { ...RATE, burst: 2 } });
      if (what.startsWith('an expiry')) await one.expire('a.2');
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

  it('allows one burst where the clock is set forward, and where all data are lost', async () => {
    const one = make(ANY);
    const options = { rate: { ...RATE, burst: 2 } };
    await one.take('a.1.5', options);
    one.pass(HOUR);
    expect(kinds(await one.acquire(ids('c', 3), options))[2]).to.equal('queued');
    await one.loseAll();
    const all = kinds(await one.acquire(ids('b', 9), options));
    expect(all.filter((kind) => kind === 'granted')).to.have.length(2);
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

  describe('that is stored', () => {
    it('that was removed counts as none, whatever callers name, and forgets earlier grants', async () => {
      const one = make(ANY);
      await one.take('a.1', RATED);
      await one.setRate(undefined);
      expect(kinds(await one.acquire(ids('b', 3), RATED))).to.deep.equal(Array(3).fill('granted'));
      await one.take('c.1');
      await one.setRate({ permits: 1, per: 1000, burst: 1 });
      await one.take('c.2');
      expect(await nextIn(one)).to.equal(1000);
    });
  });

  it('of costs is charged and settled once, though calls run twice or the ticket has expired', async () => {
    const one = make();
    const budgets = { tokens: { permits: 100, per: 100_000, burst: 100 } };
    const ask = (id: string) =>
      one.acquire([request(id, 'wait', undefined, false, { tokens: 40 })], { budgets });
    const used = async () => (await one.inspect()).budgets?.['tokens']?.used;
    for (const again of [1, 2]) {
      expect(kinds(await ask('a.1')), `${again}`).to.deep.equal(['granted']);
      expect(await used(), `${again}`).to.equal(40);
    }
    for (const released of [true, false]) {
      const settled = { budgets, spent: [{ tokens: 10 }] };
      expect((await one.release('a.1', settled)).released).to.deep.equal([released]);
      expect(await used()).to.equal(10);
    }
    expect(kinds(await ask('b.1'))).to.deep.equal(['granted']);
    await one.expire('b.1');
    const late = await one.release('b.1', { budgets, spent: [{ tokens: 0 }] });
    expect(late.released).to.deep.equal([false]);
    expect(await used(), 'its cost is spent').to.be.within(49.9, 50);
  });

  it('of costs gives back only what its own grant has left there, whatever has moved it since', async () => {
    const budget = { permits: 100, per: 100_000, burst: 100 };
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
      for (const back of [0, 40_000]) {
        const one = make({ ttl: HOUR });
        const used = async () => (await one.inspect()).budgets?.['tokens']?.used;
        const ask = async (id: string) =>
          kinds(await one.acquire([request(id, 'wait', undefined, false, { tokens: 100 })]));
        await one.setBudget('tokens', budget);
        expect(await ask('a.1'), what).to.deep.equal(['granted']);
        await change(one);
        expect(await ask('b.1'), what).to.deep.equal(['granted']);
        one.pass(-back);
        expect((await one.release('a.1', { spent: [{ tokens: 0 }] })).released).to.deep.equal([
          true,
        ]);
        expect(await used(), `${what}, and ${back} ms back`).to.be.within(99.9, 100);
        await one.release('b.1', { spent: [{ tokens: 30 }] });
        expect(await used(), `${what}, and ${back} ms back`).to.be.within(29.9, 30);
      }
    }
  });

  it('of costs gives back only what its own grant has left there, when nobody has named it for long', async () => {
    const one = make({ ttl: HOUR });
    const budgets = { tokens: { permits: 100, per: 100_000, burst: 100 } };
    const ask = async (id: string) =>
      kinds(
        await one.acquire([request(id, 'wait', undefined, false, { tokens: 100 })], { budgets }),
      );
    for (const id of ids('a', 5)) {
      expect(await ask(id)).to.deep.equal(['granted']);
      await one.release(id, { spent: [{ tokens: 0 }] });
    }
    expect(await ask('b.1')).to.deep.equal(['granted']);
    one.pass(250_000);
    expect(await ask('c.1')).to.deep.equal(['granted']);
    await one.release('b.1', { spent: [{ tokens: 0 }] });
    expect((await one.inspect()).budgets?.['tokens']?.used).to.equal(100);
  });

  it('is not passed by a call for several semaphores, all or none', async () => {
    const one = make(ANY);
    await one.setRate(RATE);
    await one.take('a.1');
    const calls = ['b.1', 'b.2'].map((id, i) => ({
      key: i === 0 ? one.key : { ...one.key, name: `${one.key.name}-other` },
      limit: one.limit,
      client: 'b',
      ttl: one.ttl,
      label: '',
      notAfter: undefined,
      requests: [request(id, 'try')],
    }));
    expect(await one.backend.acquireTogether?.(calls)).to.equal(undefined);
    expect(kinds(await only(one.backend.acquire(calls.slice(0, 1))))).to.deep.equal(['busy']);
  });
});
