import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { closeBenches, granted, ids, request, ScriptBench } from './script-bench.js';

const START = 1_795_236_819_680.065;

describeWithServer('scripts: calls for which there is a shortcut', (server) => {
  after(closeBenches);

  /** The same semaphore with the shortcuts and without them. */
  async function bothWays(limit: number, start = START): Promise<[ScriptBench, ScriptBench]> {
    const bench = (withoutShortcuts: boolean): ScriptBench =>
      new ScriptBench(server(), { limit, start, withoutShortcuts });
    const benches: [ScriptBench, ScriptBench] = [bench(false), bench(true)];
    // What the last call knew stands there.
    for (const one of benches) {
      await one.take('z.1');
      await one.release('z.1');
    }
    return benches;
  }

  /** All that stands for them is the same, and goes at the same time; what is long is a table. */
  async function expectSame(benches: readonly [ScriptBench, ScriptBench], what: string) {
    const [short, long] = await Promise.all(benches.map((bench) => bench.state()));
    expect(short, what).to.deep.equal(long);
    for (const part of ['tickets', 'meta']) {
      const [one = 0, other = 0] = await Promise.all(
        benches.map((bench) => bench.redis.pttl(bench.keyOf(part))),
      );
      expect(one, `life of ${part}, ${what}`).to.be.closeTo(other, 2000);
      const [form, otherForm] = await Promise.all(
        benches.map((bench) => bench.redis.object('ENCODING', bench.keyOf(part))),
      );
      expect(form, `form of ${part}, ${what}`).to.equal(otherForm);
    }
  }

  for (const size of [1, 2, 7, 8, 9, 200, 1000]) {
    it(`${size} at once: the same tickets, keys and lives as without it`, async () => {
      const benches = await bothWays(2 * size);
      const [short, long] = benches;
      for (const round of ['a', 'b']) {
        const replies = [];
        for (const bench of benches) replies.push(await bench.acquire(ids(round, size)));
        expect(replies[0]).to.deep.equal(replies[1]);
        await expectSame(benches, round);
        expect([isShort(short), isShort(long)]).to.deep.equal([true, false]);
      }
      for (const bench of benches) {
        const { released } = await bench.release(ids('b', size));
        expect(released).to.deep.equal(ids('b', size).map(() => true));
        await bench.release(ids('a', size));
      }
      await expectSame(benches, 'at the end');
    });
  }

  it('an acquire that runs again, alone or with others, gives the same tickets', async () => {
    const [bench] = await bothWays(50);
    const first = (await bench.acquire(ids('a', 10))).verdicts.map(granted);
    bench.pass(1000);
    const { verdicts } = await bench.acquire([...ids('a', 10), 'b.1']);
    expect(verdicts.slice(0, 10).map(granted)).to.deep.equal(first);
    expect(granted(verdicts[10]).slots).to.deep.equal([10]);
    expect((await bench.inspect()).held).to.equal(11);
    await bench.expectSafeExpiry('ten that were known and a new one');
    bench.pass(29_500);
    expect((await bench.inspect()).held, 'each with its full life again').to.equal(11);
  });

  it('ids that stand in a call twice take one permit and are given back once', async () => {
    const [bench] = await bothWays(50);
    const twice = [...ids('a', 9), ...ids('a', 9)];
    const verdicts = (await bench.acquire(twice)).verdicts.map(granted);
    expect(verdicts.slice(9)).to.deep.equal(verdicts.slice(0, 9));
    await bench.acquire(ids('b', 9));
    const { released } = await bench.release(twice);
    expect(released).to.deep.equal(twice.map((_, i) => i < 9));
    expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(ids('b', 9));
  });

  for (const [place, named] of [
    ['first', ['x.1', 'a.1', 'a.3']],
    ['between', ['a.1', 'x.1', 'a.3']],
    ['last', ['a.1', 'a.3', 'x.1']],
    ['one twice, first', ['a.1', 'a.1', 'a.3']],
    ['one twice, last', ['a.1', 'a.3', 'a.3']],
  ] as const) {
    it(`a release that names as many as are held, but not all (${place}), frees its own alone`, async () => {
      const [bench] = await bothWays(50);
      await bench.acquire(['a.1', 'a.2', 'a.3']);
      const { released } = await bench.release(named);
      expect(released).to.deep.equal(named.map((id, i) => id !== 'x.1' && named.indexOf(id) === i));
      expect((await bench.inspect()).holders.map(({ id }) => id)).to.deep.equal(['a.2']);
      expect((await bench.take('b.1')).slots).to.deep.equal([0]);
    });
  }

  it('a release of all leaves nothing of tickets that were adopted', async () => {
    const [bench] = await bothWays(50);
    const empty = await bench.fields();
    await bench.acquire(['a.1', 'a.2']);
    for (const id of ['a.1', 'a.2']) await bench.adopt(id, `b${id}`);
    const adopted = (await bench.inspect()).holders.map(({ id }) => id);
    expect((await bench.release(adopted)).released).to.deep.equal([true, true]);
    expect(await bench.fields()).to.deep.equal(empty);
    await bench.take('a.3');
    await bench.adopt('a.3', 'b.3');
    const last = (await bench.inspect()).holders.map(({ id }) => id);
    expect((await bench.release(last)).released).to.deep.equal([true]);
    expect(await bench.fields()).to.deep.equal(empty);
  });

  it('a release of one that is not there, or has no record, tells so and takes nothing', async () => {
    const benches = await bothWays(50);
    for (const bench of benches) {
      await bench.take('a.1');
      expect((await bench.release('x.1')).released).to.deep.equal([false]);
      expect((await bench.inspect()).held).to.equal(1);
      await bench.redis.hdel(bench.keyOf('meta'), 'a.1');
      expect((await bench.release('a.1')).released).to.deep.equal([false]);
    }
    await expectSame(benches, 'without a record');
  });

  it('a release of all that are held tells which of them had expired', async () => {
    const [bench] = await bothWays(50);
    await bench.acquire(['a.1', 'a.2'], { ttl: 1000 });
    await bench.take('a.3');
    bench.pass(1000);
    const { released } = await bench.release(['a.1', 'a.2', 'a.3']);
    expect(released).to.deep.equal([false, false, true]);
    await bench.take('b.1', { ttl: 1000 });
    bench.pass(1000);
    expect((await bench.release('b.1')).released).to.deep.equal([false]);
    expect(await bench.parts()).to.deep.equal(['meta']);
  });

  it('a call that comes too late takes nothing', async () => {
    const [bench] = await bothWays(50);
    const { verdicts } = await bench.acquire(ids('a', 9), { notAfter: START - 1 });
    expect(new Set(verdicts.map(({ kind }) => kind))).to.deep.equal(new Set(['late']));
    expect(await bench.parts()).to.deep.equal(['meta']);
  });

  // The second start: of a clock that has only just begun.
  for (const start of [1_795_236_819_999.99, 999.99]) {
    for (const size of [9, 10, 11, 12, 300]) {
      it(`tokens of ${size} rise over the end of a second at ${start} ms`, async () => {
        const benches = await bothWays(size + 3, start);
        const replies = [];
        for (const bench of benches) replies.push(await bench.acquire(ids('a', size)));
        expect(replies[0]).to.deep.equal(replies[1]);
        const tokens = (replies[0]?.verdicts ?? []).map((one) => granted(one).fencingToken);
        expect(tokens).to.deep.equal(tokens.map((_, i) => (tokens[0] ?? 0) + i));
        await expectSame(benches, 'after many');
        const [next] = await Promise.all(benches.map((bench) => bench.take('b.1')));
        expect(next?.fencingToken).to.equal((tokens.at(-1) ?? 0) + 1);
        await expectSame(benches, 'after one more');
      });
    }
  }

  it('keys that had to live for long are brought nearer, or not, as without it', async () => {
    for (const ttl of [1000, 39_000, 50_000, 58_000, 62_000, 121_000]) {
      const benches = await bothWays(50);
      for (const bench of benches) {
        await bench.take('a.1', { ttl: 120_000 });
        await bench.release('a.1');
        await bench.take('b.1', { ttl });
      }
      await expectSame(benches, `ttl ${ttl}`);
    }
  });

  it('the last permit, and one where somebody else has the only other, are got by it', async () => {
    const [bench] = await bothWays(2);
    // Nobody was there for long.
    bench.pass(3_600_000);
    for (const id of ['a.1', 'a.2']) {
      expect((await bench.take(id)).slots).to.deep.equal([id === 'a.1' ? 0 : 1]);
      expect(isShort(bench), id).to.equal(true);
    }
    await bench.release(['a.1', 'a.2']);
    await bench.acquire(['b.1', 'b.2']);
    expect(isShort(bench), 'both at once').to.equal(true);
  });

  it('a call that is just in time takes it', async () => {
    const [bench] = await bothWays(2);
    await bench.take('a.1', { notAfter: START });
    expect(isShort(bench)).to.equal(true);
  });

  it('a call for nothing changes nothing', async () => {
    const [bench] = await bothWays(2);
    const before = await bench.state();
    expect((await bench.acquire([])).verdicts).to.deep.equal([]);
    expect((await bench.release([])).released).to.deep.equal([]);
    expect(await bench.state()).to.deep.equal(before);
  });

  for (const expired of [1, 2]) {
    it(`slots of ${expired} whose life is over are granted first`, async () => {
      const [bench] = await bothWays(50);
      await bench.acquire(ids('a', expired));
      await bench.expire(...ids('a', expired));
      expect((await bench.take('b.1')).slots).to.deep.equal([0]);
      expect((await bench.inspect()).held).to.equal(1);
    });
  }

  it('a caller is told of a limit that is stored, and of another caller’s', async () => {
    const [stored, other] = await bothWays(50);
    await stored.setLimit(40);
    expect((await stored.acquire('a.1')).storedLimit).to.equal(40);
    expect((await stored.release('a.1')).storedLimit).to.equal(40);
    await other.take('a.1');
    expect((await other.acquire('b.1', { limit: 60 })).otherLimit).to.equal(50);
    expect((await other.release(['a.1', 'b.1'])).otherLimit).to.equal(60);
  });

  it('a request that is asked for again after its ticket was lost stands there once', async () => {
    for (const size of [1, 2, 7]) {
      const [bench] = await bothWays(50);
      await bench.acquire(ids('a', size));
      await bench.redis.del(bench.keyOf('tickets'));
      const { verdicts } = await bench.acquire(ids('a', size));
      expect(verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal(
        ids('a', size).map((_, i) => [i]),
      );
      expect((await bench.inspect()).held).to.equal(size);
    }
  });

  for (const seed of [1, 2, 3, 4]) {
    it(`whatever is called, all stands as without it (seed ${seed})`, async () => {
      const limit = 30;
      const benches = await bothWays(limit);
      const random = new RandomNumbers(seed);
      let asked: string[] = [];
      let shorts = 0;
      for (let step = 0; step < 150; step++) {
        const call = anyCall(random, asked, step);
        const replies = [];
        for (const bench of benches) replies.push(await call(bench));
        expect(replies[0], `step ${step}`).to.deep.equal(replies[1]);
        await expectSame(benches, `step ${step}`);
        shorts += isShort(benches[0]) ? 1 : 0;
        const { holders, waiters } = await benches[0].inspect();
        asked = [...holders, ...waiters].map(({ id }) => id);
      }
      expect(shorts).to.be.above(10);
    });
  }

  /** One step of a program; `asked`: who holds or waits. */
  function anyCall(random: RandomNumbers, asked: readonly string[], step: number) {
    const fresh = ids(`c${step}`, random.pick([1, 1, 1, 2, 3, 7, 8, 9, 16, 20]));
    // Not more of them: the shortcut would have stored some before it sees that others are known, all is then counted
    // anew, and the keys get another life than without it.
    const again = [...random.some(asked, 0.3), ...fresh, ...fresh].slice(0, 7);
    const left = random.some(asked, 0.7);
    const ttl = random.pick([20_000, 30_000, 30_000, 120_000]);
    const pause = random.pick([0, 0.001, 5, 19_999, 20_000, 31_000]);
    return random.pick<(bench: ScriptBench) => unknown>([
      (bench) => bench.acquire(fresh, { ttl }),
      (bench) => bench.acquire(fresh, { ttl }),
      (bench) => bench.acquire(again, { ttl }),
      (bench) =>
        bench.acquire(
          fresh.map((id) => request(id, 'try')),
          { ttl },
        ),
      (bench) => bench.release(asked),
      (bench) => bench.release(asked.toReversed()),
      (bench) => bench.release(left),
      (bench) => bench.release([...left, ...left]),
      (bench) => bench.release([...left, ...fresh]),
      (bench) => bench.extend([...asked, ...fresh], { ttl }),
      (bench) => bench.pass(pause),
      (bench) => bench.pass(pause),
    ]);
  }

  /** Whether the last call took the shortcut of acquire: nothing else tells of many in one. */
  function isShort({ replies }: ScriptBench): boolean {
    return /^[^|]*\|\|n/.test(replies.at(-1) ?? '');
  }
});
