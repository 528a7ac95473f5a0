import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import {
  closeFixtures,
  granted,
  ids,
  kinds,
  RedisFixture,
  request,
} from '../../test/scripts/port-fixture.js';

const MANY = 100_000;

describeWithServer('scripts: 10 and 100 000 tickets', (server) => {
  after(closeFixtures);

  async function fill(one: RedisFixture, count: number): Promise<void> {
    for (let from = 1; from <= count; from += 1000) {
      const size = Math.min(1000, count - from + 1);
      const reply = await one.acquire(ids('a', size, from));
      expect(granted(reply.verdicts.at(-1)).slots).to.deep.equal([from + size - 2]);
    }
  }

  /** Server time of one call in microseconds: the best of some rounds, for the machine has other work. */
  async function costs(one: RedisFixture): Promise<Record<string, number>> {
    const best: Record<string, number> = {};
    const rounds = 100;
    const measure = async (what: string, call: (id: string) => Promise<unknown>): Promise<void> => {
      await server().command('CONFIG', 'RESETSTAT');
      for (let i = 0; i < rounds; i++) await call(`m.${i}`);
      const usec = /usec=(\d+)/.exec(await server().stat('commandstats', 'cmdstat_evalsha'))?.[1];
      best[what] = Math.min(best[what] ?? Infinity, Number(usec) / rounds);
    };
    for (let repetition = 0; repetition < 4; repetition++) {
      await measure('acquire', (id) => one.acquire(id));
      await measure('extend', (id) => one.extend(id));
      await measure('refused try', () => one.acquire([request('t.1.1000', 'try')]));
      await measure('release', (id) => one.release(id));
    }
    return best;
  }

  let few: RedisFixture;
  let many: RedisFixture;

  before('take 10 and 100 000 tickets', async () => {
    few = new RedisFixture(server(), { limit: 510 });
    many = new RedisFixture(server(), { limit: MANY + 500 });
    await fill(few, 10);
    await fill(many, MANY);
  });

  it('holds 100 000 tickets with distinct slots', async () => {
    expect(await many.redis.zcard(many.keyOf('tickets'))).to.equal(MANY);
    const { holders, held } = await many.inspect();
    expect([holders.length, held]).to.deep.equal([MANY, MANY]);
    expect(new Set(holders.map(({ slots }) => slots[0])).size).to.equal(MANY);
    expect(new Set(holders.map(({ fencingToken }) => fencingToken)).size).to.equal(MANY);
  });

  it('shows them in pages of bounded size', async () => {
    many.replies.splice(0);
    await many.inspect();
    expect(many.replies.length).to.be.within(MANY / 1000, MANY / 100);
    for (const reply of many.replies) expect(reply.split(';').length).to.be.at.most(1000);
  });

  it('lets others in between those pages: none takes a large part of the whole', async () => {
    const config = (name: string, value: string): Promise<unknown> =>
      server().command('CONFIG', 'SET', name, value);
    // Microseconds: less than a page, more than a command within it.
    await config('slowlog-log-slower-than', '50');
    await config('slowlog-max-len', '5000');
    let best = Infinity;
    try {
      // The machine may be busy with something else: the best of some rounds.
      for (let round = 0; round < 5 && best > 0.05; round++) {
        await server().command('SLOWLOG', 'RESET');
        const answered = await pingsDuring(() => many.inspect());
        expect(answered).to.be.above(20);
        best = Math.min(best, await longestShare());
      }
    } finally {
      await config('slowlog-log-slower-than', '10000');
    }
    expect(best, 'the longest page of all').to.be.at.most(0.05);
  });

  /** How many times the server answers somebody else meanwhile. */
  async function pingsDuring(body: () => Promise<unknown>): Promise<number> {
    const end = new AbortController();
    let answered = 0;
    const running = body().finally(() => end.abort());
    while (!end.signal.aborted) {
      await few.redis.ping();
      answered += 1;
    }
    await running;
    return answered;
  }

  /** The part of the time of all script calls that the longest of them took. */
  async function longestShare(): Promise<number> {
    const entries = (await server().command('SLOWLOG', 'GET', '-1')) as [
      number,
      number,
      number,
      string[],
    ][];
    const times = entries
      .filter(([, , , command]) => command[0]?.toLowerCase() === 'evalsha')
      .map(([, , time]) => time);
    expect(times.length).to.be.above(100);
    return Math.max(...times) / times.reduce((sum, time) => sum + time, 0);
  }

  it('grants, extends, refuses and releases single tickets among them', async () => {
    expect((await many.take('b.1')).slots).to.deep.equal([MANY]);
    expect(kinds(await many.acquire([request('b.2.500', 'try')]))).to.deep.equal(['busy']);
    expect((await many.extend(['b.1', 'a.50000', 'gone.1'])).extended).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect((await many.release(['a.70000', 'a.30000', 'b.1'])).released).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect((await many.take('a.30000')).slots).to.deep.equal([29_999]);
    expect((await many.take('a.70000')).slots).to.deep.equal([69_999]);
  });

  it('takes at most three times the server time of 10 tickets for a call', async () => {
    const [small, large] = [await costs(few), await costs(many)];
    for (const what of Object.keys(small)) {
      const limit = 3 * (small[what] ?? NaN);
      expect(large[what], `µs for ${what}, ${small[what]} with 10`).to.be.below(limit);
    }
  });

  it('serves a queue of 10 000 among them in order, as permits come free', async () => {
    await many.acquire(ids('h', 500));
    for (let from = 1; from < 10_000; from += 1000) await many.acquire(ids('q', 1000, from));
    const { grants } = await many.release(ids('h', 500), { client: 'q' });
    expect(grants.map(({ id }) => id)).to.deep.equal(ids('q', 500));
    for (let from = 1; from < 10_000; from += 1000) await many.release(ids('q', 1000, from));
    const state = await many.inspect();
    expect([state.held, state.waiting]).to.deep.equal([MANY, 0]);
  });

  it('drops 100 000 tickets that expired at once, in one call', async () => {
    many.pass(many.ttl);
    expect(kinds(await many.acquire([request('c.1', 'try')]))).to.deep.equal(['granted']);
    const { holders } = await many.inspect();
    expect(holders.map(({ id, slots }) => [id, slots])).to.deep.equal([['c.1', [0]]]);
    await many.expectSafeExpiry('the purge');
    await many.release('c.1');
    await many.expectNothingLeft();
  });
});
