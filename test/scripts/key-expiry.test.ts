import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, ids, kinds, request, ScriptBench } from './script-bench.js';

const DAY = 86_400_000;

describeWithServer('scripts: expiry of keys', (server) => {
  after(closeBenches);

  it('is never behind a live ticket: a long life first, then short ones', async () => {
    const bench = new ScriptBench(server(), { limit: 10, realTime: true });
    await bench.take('a.1', { ttl: 60_000 });
    await bench.expectSafeExpiry('a long acquire');
    await bench.take('a.2', { ttl: 100 });
    await bench.expectSafeExpiry('a short acquire');
    await bench.extend('a.2', { ttl: 100 });
    await bench.expectSafeExpiry('a short extend');
    await bench.release('a.2', { ttl: 100 });
    await bench.expectSafeExpiry('a release');
    await bench.take('a.1', { ttl: 500 });
    await bench.expectSafeExpiry('the same acquire with a shorter life');
    await bench.take('a.1', { ttl: 80_000 });
    await bench.expectSafeExpiry('the same acquire with a longer life');
    await bench.extend('a.1', { ttl: 250_000 });
    await bench.expectSafeExpiry('a longer extend');
    expect(await bench.redis.pttl(bench.keyOf('tickets'))).to.be.at.least(249_000);
  });

  it('is set again by an extend, so that extended tickets outlive the first ttl', async () => {
    const bench = new ScriptBench(server(), { ttl: 300 });
    await bench.take('a.1');
    await bench.extend('a.1', { ttl: 20_000 });
    for (const part of ['tickets', 'meta']) {
      expect(await bench.redis.pttl(bench.keyOf(part)), part).to.be.at.least(19_000);
    }
  });

  it('is never behind a ticket that was granted from the queue', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 200 });
    await bench.take('a.1');
    await bench.acquire('b.1');
    await bench.release('a.1');
    expect(await bench.lifeOf('b.1')).to.be.at.least(1500);
    await bench.expectSafeExpiry('a pushed grant');
  });

  it('of queue and waiters covers the waiter lease', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 200 });
    await bench.acquire(['a.1', 'a.2']);
    for (const part of ['queue', 'waiters']) {
      expect(await bench.redis.pttl(bench.keyOf(part)), part).to.be.at.least(4900);
    }
  });

  it('of meta is a day behind the last ticket, for tokens must rise', async () => {
    const bench = new ScriptBench(server());
    await bench.take('a.1', { ttl: 50_000 });
    expect(await bench.redis.pttl(bench.keyOf('meta'))).to.be.within(DAY + 49_000, DAY + 200_000);
    await bench.release('a.1');
    expect(await bench.parts()).to.deep.equal(['meta']);
    expect(await bench.redis.pttl(bench.keyOf('meta'))).to.be.within(DAY - 1000, DAY + 200_000);
  });

  // A server that is kept from running for as long deletes the key inside the script, which has counted what is in it.
  it('is never a matter of milliseconds, not even where all that is there has long expired', async () => {
    const bench = new ScriptBench(server(), { limit: 4, ttl: 1000 });
    const lives: number[] = [];
    const monitor = await bench.redis.monitor();
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (source === 'lua' && args[0]?.toUpperCase() === 'PEXPIRE') lives.push(Number(args[2]));
    });
    for (const next of ['acquire', 'extend', 'release', 'setLimit'] as const) {
      await bench.acquire([`a.${next}.2`, `b.${next}`, `c.${next}.2`]);
      await bench.release(`a.${next}.2`);
      bench.pass(60_000);
      if (next === 'setLimit') await bench.setLimit(3);
      else await bench[next](`d.${next}`);
    }
    // What the monitor tells comes in the order of the calls.
    const echo = new Promise((resolve) => {
      monitor.on('monitor', (_time: string, args: string[]) => {
        if (args[1] === 'over') resolve(true);
      });
    });
    await bench.redis.echo('over');
    await echo;
    monitor.disconnect();
    expect(lives.length).to.be.above(20);
    expect(Math.min(...lives)).to.be.at.least(1000);
  });

  it('is set on every key after every kind of call', async () => {
    const bench = new ScriptBench(server(), { limit: 4 });
    const step = async (what: string, call: Promise<unknown>): Promise<void> => {
      await call;
      await bench.expectSafeExpiry(what);
    };
    await step('acquire', bench.acquire(['a.1', 'a.2', 'a.3', 'a.4']));
    await step('release of a low slot', bench.release('a.1'));
    await step('acquire of the freed slot', bench.acquire('a.5'));
    await step('queueing', bench.acquire('b.1'));
    await bench.expire('a.2');
    await step('extend that purges and grants', bench.extend('a.3'));
    await bench.expire('a.3');
    await step('extend of a ticket that is gone', bench.extend('a.3'));
    await step('release of nothing', bench.release('gone.1'));
    await bench.expire('a.4');
    await step('a refused try', bench.acquire([request('c.1.4', 'try')]));
    await step('queueing for all', bench.acquire('c.2.4'));
    await step('a late call', bench.acquire('d.1', { notAfter: 1 }));
    await step('withdrawal', bench.release('c.2.4'));
    await step('revoking', bench.revoke('a.5'));
    await step('adopting', bench.adopt('b.1', 'e.1', { ttl: 70_000 }));
    await step('adopting again', bench.adopt('b.1', 'e.1', { ttl: 200_000 }));
    await step('adopting what is gone', bench.adopt('a.4', 'e.2'));
    await step('a late adoption', bench.adopt('b.1', 'e.3', { notAfter: 1 }));
    await step('a new limit', bench.setLimit(6));
    await step('a late new limit', bench.setLimit(7, { notAfter: 1 }));
    await step('inspect', bench.inspect());
  });

  it('covers a request that came again and one that is new, whichever lives longer', async () => {
    for (const ttl of [300, 60_000]) {
      const bench = new ScriptBench(server(), { limit: 1, ttl: 200 });
      await bench.take('a.1');
      await bench.acquire(['a.1', 'b.1'], { ttl });
      await bench.expectSafeExpiry('both');
      for (const part of ['queue', 'waiters']) {
        expect(await bench.redis.pttl(bench.keyOf(part)), part).to.be.at.least(4900);
      }
    }
  });

  it('is near, however short the lives, while one of many waiters is served by asking', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 300 });
    await bench.take('x.1', { ttl: 8000 });
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    await bench.acquire(['b.1', 'b.2']);
    await bench.expire('x.1');
    expect(kinds(await bench.acquire([request('a.1', place)]))).to.deep.equal(['granted']);
    await bench.expectSafeExpiry('a grant to who asked again');
    for (const part of ['queue', 'waiters']) {
      expect(await bench.redis.pttl(bench.keyOf(part)), part).to.be.at.least(4900);
    }
  });

  const purging: [string, (bench: ScriptBench) => Promise<unknown>][] = [
    ['a refused try', (bench) => bench.acquire([request('b.1.4', 'try')])],
    ['a late acquire', (bench) => bench.acquire('b.1', { notAfter: 1 })],
    ['an extend of a ticket that is gone', (bench) => bench.extend('gone.1')],
    ['a release of another ticket', (bench) => bench.release('a.3')],
    ['a release of nothing', (bench) => bench.release('gone.1')],
  ];
  for (const [what, call] of purging) {
    it(`is set on every key after ${what} that dropped an expired ticket`, async () => {
      const bench = new ScriptBench(server(), { limit: 4 });
      await bench.acquire(ids('a', 4));
      await bench.expire('a.1');
      await call(bench);
      await bench.expectSafeExpiry(what);
    });
  }

  it('is set on every key after somebody queues behind waiters who died', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 100_000 });
    await bench.take('x.1');
    await bench.acquire(['dead.1', 'dead.2']);
    bench.pass(5000);
    await bench.acquire('a.1');
    await bench.expectSafeExpiry('queueing');
    bench.pass(5000);
    await bench.extend('x.1');
    await bench.acquire([request('b.1', 'try')]);
    await bench.expectSafeExpiry('other calls');
    await bench.acquire('b.2');
    await bench.expectSafeExpiry('queueing again');
  });

  it('is set on a queue that is made anew while tickets live long', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 100_000 });
    await bench.take('x.1');
    for (let i = 0; i < 3; i++) {
      await bench.acquire(`a.${i}`);
      await bench.expectSafeExpiry('queueing');
      await bench.release(`a.${i}`);
      await bench.expectSafeExpiry('withdrawal');
    }
  });

  for (const part of ['tickets', 'free', 'meta', 'queue', 'waiters']) {
    it(`is set on every key after calls that found ${part} deleted`, async () => {
      const bench = new ScriptBench(server(), { limit: 4 });
      for (const call of [
        () => bench.extend('a.2'),
        () => bench.release('gone.1'),
        () => bench.acquire([request('z.1.4', 'try')]),
        () => bench.acquire('z.2', { notAfter: 1 }),
        () => bench.acquire('z.3.4'),
        () => bench.acquire('a.2'),
      ]) {
        await bench.acquire(ids('a', 4));
        await bench.acquire('b.1.4');
        await bench.release('a.1');
        await bench.redis.del(bench.keyOf(part));
        await call();
        await bench.expectSafeExpiry(`a call without ${part}`);
        await bench.release([...ids('a', 4), 'b.1.4', 'z.3.4']);
      }
    });
  }

  it('leaves nothing but meta when the last ticket and waiter are gone, whatever ended them', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(ids('a', 4));
    const arrival = arrivalOf((await bench.acquire('b.1')).verdicts[0]);
    await bench.release(['a.1', 'a.3']);
    await bench.acquire([request('b.1', arrival)]);
    await bench.release(['a.2', 'b.1']);
    await bench.expire('a.4');
    await bench.extend('a.4');
    expect(await bench.parts()).to.deep.equal(['meta']);
    for (const client of ['a', 'b']) expect(await bench.remembers(client)).to.equal(false);
  });

  for (const freed of [['a.2'], ['a.2', 'a.3'], ['a.2', 'a.4'], ['a.1', 'a.3', 'a.5']]) {
    it(`leaves nothing but meta when ${freed.join(', ')} go first and the others together, nor a slot twice`, async () => {
      const bench = new ScriptBench(server(), { limit: 12 });
      const all = ids('a', 6);
      await bench.acquire(all);
      await bench.release(freed);
      await bench.release(all.filter((id) => !freed.includes(id)));
      expect(await bench.parts()).to.deep.equal(['meta']);
      for (const client of ['b', 'c', 'd']) await bench.acquire(ids(client, 4));
      const { holders } = await bench.inspect();
      const slots = holders.flatMap((holder) => holder.slots).toSorted((a, b) => a - b);
      expect(slots).to.deep.equal(Array.from({ length: 12 }, (_, slot) => slot));
    });
  }

  it('lets no key of a semaphore whose processes all died stay for ever', async () => {
    const bench = new ScriptBench(server(), { limit: 2, ttl: 100 });
    await bench.acquire(ids('a', 3));
    await bench.release('a.1');
    for (const part of await bench.parts()) {
      const life = await bench.redis.pttl(bench.keyOf(part));
      expect(life, part).to.be.within(1, part === 'meta' ? DAY + 60_000 : 60_000);
    }
  });
});
