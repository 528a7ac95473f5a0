import { expect } from 'chai';

import { arrivalOf, describeOnBoth, ids, request } from './port-fixture.js';

describeOnBoth('the queue', (make) => {
  it('of thousands is served in one call, and notified in messages of bounded length', async () => {
    const one = make({ limit: 1 });
    await one.take('x.1');
    for (const client of ['a', 'b']) {
      for (let from = 1; from <= 2500; from += 500) await one.acquire(ids(client, 500, from));
    }
    const pushed = await one.pushesTo('b');
    const { grants } = await one.setLimit(5001, { client: 'a' });
    expect(grants.map(({ id }) => id)).to.deep.equal(ids('a', 2500));
    while (pushed.length < 2500) await one.inspect();
    expect(pushed.map(({ id }) => id)).to.have.members(ids('b', 2500));
    const { held, holders } = await one.inspect();
    expect(held).to.equal(5001);
    expect(new Set(holders.flatMap(({ slots }) => slots)).size).to.equal(held);
    expect(new Set(holders.map(({ fencingToken }) => fencingToken)).size).to.equal(held);
  });
});

describeOnBoth('leases of waiters', (make) => {
  it('a grant lives for the claim time, or its ttl where that is less, and for its ttl once it is claimed', async () => {
    for (const ttl of [300, 60_000]) {
      const one = make({ limit: 3, ttl });
      await one.acquire(ids('x', 3));
      await one.acquire(ids('a', 4));
      await one.release(ids('x', 3));
      expect(await one.lifeOf('a.1')).to.be.closeTo(Math.min(ttl, 5000), 0.01);
      await one.extend('a.1');
      await one.acquire('a.2');
      await one.expire('a.3');
      await one.acquire('a.4');
      for (const id of ['a.1', 'a.2', 'a.4']) {
        expect(await one.lifeOf(id), id).to.be.within(ttl - 1, ttl);
      }
    }
  });

  it('requests of a client count for 5 s after its last try for any of them, to the millisecond', async () => {
    for (const [pause, winner] of [
      [4999, 'a.1'],
      [5000, 'b.1'],
    ] as const) {
      const one = make({ limit: 1, ttl: 60_000 });
      await one.take('x.1');
      await one.acquire('a.1');
      for (let i = 0; i < 4; i++) {
        one.pass(4900);
        await one.acquire('a.2');
      }
      one.pass(3000);
      await one.acquire('b.1');
      one.pass(pause - 3000);
      await one.release('x.1');
      expect(await one.holders()).to.deep.equal([winner]);
    }
  });

  it('skips dead requests by thousands, lets no big dead request block others, and gives a place back on asking', async () => {
    const one = make({ limit: 2 });
    await one.acquire(['x.1', 'x.2']);
    const place = arrivalOf((await one.acquire('late.1.2')).verdicts[0]);
    for (let from = 1; from < 3000; from += 1000) await one.acquire(ids('dead', 1000, from));
    one.pass(4000);
    await one.acquire(ids('a', 4));
    one.pass(1000);
    const { waiters } = await one.inspect();
    expect(waiters.map(({ id, position }) => [id, position])[0]).to.deep.equal(['a.1', 0]);
    await one.release(['x.1', 'x.2']);
    expect(await one.standing()).to.deep.equal({
      held: { 'a.1': [0], 'a.2': [1] },
      queue: ['a.3', 'a.4'],
    });
    const back = await one.acquire([request('late.1.2', place)]);
    expect(arrivalOf(back.verdicts[0])).to.equal(place);
    expect(await one.queue()).to.deep.equal(['late.1.2', 'a.3', 'a.4']);
  });
});
