import { expect } from 'chai';

import { keysOf } from '../../src/backends/redis/keys.js';
import { describeWithServer } from '../support/require-server.js';
import { closeFixtures, ids, RedisFixture } from './port-fixture.js';

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
});
