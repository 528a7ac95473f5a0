import { expect } from 'chai';

import { eventually } from '../support/eventually.js';
import { describeOnBoth, kinds } from './port-fixture.js';

const SLOW = { permits: 1, per: 60_000, burst: 1 };
const FAST = { permits: 1, per: 1000, burst: 1 };

/** A waiter hears of a turn that has come nearer, whatever brought it nearer. */
describeOnBoth('turns that come nearer', (make) => {
  it('are notified to the second waiter once the first is granted under a faster rate', async () => {
    const one = make({ limit: 9, ttl: 300_000 });
    const turns = await one.turnsTo('c');
    await one.take('a.1', { rate: SLOW });
    await one.acquire('b.1', { rate: SLOW });
    await one.acquire('c.1', { rate: SLOW });
    const start = one.time.now;
    await one.setRate(FAST);
    one.pass(1000);
    await one.take('b.1');
    await eventually(() => expect(turns.at(-1)).to.deep.equal({ id: 'c.1', at: start + 2000 }));
  });

  it('are notified to a waiter that a slot holds back as well', async () => {
    const one = make({ limit: 1 });
    const turns = await one.turnsTo('b');
    await one.acquire('a.1', { rate: SLOW });
    await one.acquire('b.1', { rate: SLOW });
    await one.setLimit(2);
    await one.acquire('b.1', { rate: SLOW });
    await one.setLimit(1);
    const start = one.time.now;
    await one.setRate(FAST);
    await eventually(() => expect(turns.at(-1)).to.deep.equal({ id: 'b.1', at: start + 1000 }));
  });

  it('are kept by the lease of a client of which another request is refused', async () => {
    const one = make({ limit: 9, ttl: 300_000 });
    const options = { rate: SLOW, maxWaiting: 2 };
    await one.take('a.1', options);
    await one.acquire('b.1', options);
    await one.acquire('c.1', options);
    expect(kinds(await one.acquire('b.2', options))).to.deep.equal(['full']);
    one.pass(20_000);
    expect(kinds(await one.acquire('d.1', options))).to.deep.equal(['full']);
    expect(await one.queue()).to.deep.equal(['b.1', 'c.1']);
    one.pass(40_000);
    await one.acquire('c.1', options);
    expect(await one.holders()).to.deep.equal(['a.1', 'b.1']);
  });
});
