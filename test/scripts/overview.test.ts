import { expect } from 'chai';

import { keysOf } from '../../src/backends/redis/keys.js';
import { describeWithServer } from '../support/require-server.js';
import {
  closeFixtures,
  describeOnBoth,
  ids,
  ofGroup,
  RedisFixture,
  request,
} from './port-fixture.js';

describeWithServer('the overview', (server) => {
  after(closeFixtures);

  it('shows a damaged semaphore beside the others, and ends early if there are many tickets', async () => {
    const one = new RedisFixture(server(), { limit: 100_000 });
    const [first, hurt, text] = ['first', 'hurt', 'text'].map((name) => ({ ...one.key, name }));
    if (!first || !hurt || !text) throw new Error('three names are three keys');
    one.key = first;
    const [tickets = '', info = ''] = keysOf(hurt);
    await one.redis.hset(tickets, 'no', 'sorted set');
    await one.redis.hset(info, 'state', 'no state | of ours');
    await one.redis.set(keysOf(text)[1] ?? '', 'no hash');
    await one.take('a.1');
    const [damaged, whole, broken] = await one.backend.overview([hurt, first, text]);
    expect(whole).to.include({ held: 1, waiting: 0 });
    expect(JSON.stringify([damaged, broken])).to.match(/error.*WRONGTYPE.*error.*WRONGTYPE/);
    for (let from = 0; from < 6000; from += 1000) await one.acquire(ids('b', 1000, from));
    expect(await one.backend.overview([first, text, hurt])).to.have.length(1);
    expect(await one.backend.overview([text, first, hurt])).to.have.length(2);
    const { tokens, ...rest } = await one.overview();
    expect(rest).to.include({ held: 6001, waiting: 0 });
    expect(tokens).to.have.length(32);
    await one.redis.del(...keysOf(hurt), ...keysOf(text));
  });

  it('ends early if there are many requests, and counts the requests of clients with a lease', async () => {
    const one = new RedisFixture(server(), { limit: 1 });
    const [first, other] = [one.key, { ...one.key, name: 'behind many requests' }];
    await one.take('a.1');
    for (const client of ['b', 'c'])
      for (let from = 0; from < 3000; from += 1000) await one.acquire(ids(client, 1000, from));
    expect(await one.backend.overview([first, other])).to.have.length(1);
    expect(await one.backend.overview([other, first])).to.have.length(2);
    expect(await one.overview()).to.include({ held: 1, waiting: 6000 });
    await one.redis.zrem(one.keyOf('clients'), 'b');
    expect(await one.overview()).to.include({ held: 1, waiting: 3000 });
    await one.lose('clients');
    expect(await one.overview()).to.include({ waiting: 0, oldestWait: undefined });
    expect((await one.inspect()).waiting).to.equal(0);
  });
});

describeOnBoth('the overview', (make) => {
  it('has the longest wait, also of a request that others overtake', async () => {
    const one = make({ limit: 1 });
    await one.take('a.1');
    await one.acquire('b.1');
    one.pass(1000);
    await one.acquire([request('b.2', 'wait', { order: ofGroup('', 1, 9) })]);
    one.pass(500);
    expect((await one.inspect()).waiters.map(({ id }) => id)).to.deep.equal(['b.2', 'b.1']);
    const { waiting, oldestWait } = await one.overview();
    expect(waiting).to.equal(2);
    expect(oldestWait).to.be.closeTo(1500, 0.01);
  });
});
