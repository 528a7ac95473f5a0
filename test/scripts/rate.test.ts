import { expect } from 'chai';

import type { Rate } from '../../src/backends/backend.js';
import {
  describeOnBoth,
  granted,
  ids,
  kinds,
  type PortFixture,
  request,
} from './port-fixture.js';

/** One every 600 ms. */
const RATE: Rate = { permits: 100, per: 60_000, burst: 1 };
const STEP = 600;

const FREE = { limit: 2 ** 53 - 1 };

describeOnBoth('a rate', (make) => {
  const nextIn = async (one: PortFixture): Promise<number | undefined> =>
    (await one.inspect()).rate?.nextIn;

  it('grants one, and the next an interval later, to a try and to a newcomer', async () => {
    const one = make(FREE);
    await one.take('a.1', { rate: RATE });
    expect(await one.try('a.2', { rate: RATE })).to.equal('busy');
    one.pass(STEP - 1);
    expect(await one.try('a.2', { rate: RATE })).to.equal('busy');
    expect(await nextIn(one)).to.equal(1);
    one.pass(1);
    expect(await nextIn(one)).to.equal(0);
    await one.take('a.2', { rate: RATE });
    one.pass(STEP);
    expect(kinds(await one.acquire(ids('b', 2), { rate: RATE }))).to.deep.equal([
      'granted',
      'queued',
    ]);
  });

  it('notifies those who wait when it can allow their first request', async () => {
    const one = make(FREE);
    await one.take('a.1', { rate: RATE });
    const at = one.time.now;
    const first = await one.acquire(['b.1', 'b.2'], { rate: RATE });
    const later = await one.acquire(['c.1', 'c.2'], { rate: RATE });
    const last = await one.acquire('b.3', { rate: RATE });
    const turns = [first, later, last].map(({ nearestExpiry = 0 }) => nearestExpiry - at);
    expect(turns).to.deep.equal([STEP, 3 * STEP, 5 * STEP]);
    one.pass(STEP);
    const again = ['b.1', 'b.2', 'b.3'].map((id) => request(id));
    const reply = await one.acquire(again, { rate: RATE });
    expect(kinds(reply)).to.deep.equal(['granted', 'queued', 'queued']);
    expect(reply.nearestExpiry).to.equal(one.time.now + STEP);
    expect(await one.queue()).to.deep.equal(['b.2', 'c.1', 'c.2', 'b.3']);
  });

  it('is charged once where a call runs twice, and not given back with the permit', async () => {
    const one = make(FREE);
    const first = await one.take('a.1', { rate: RATE });
    const second = granted((await one.acquire('a.1', { rate: RATE })).verdicts[0]);
    expect(second).to.deep.equal(first);
    expect(await nextIn(one)).to.equal(STEP);
    await one.release('a.1');
    expect(await nextIn(one)).to.equal(STEP);
    expect(await one.try('a.2', { rate: RATE })).to.equal('busy');
  });
});
