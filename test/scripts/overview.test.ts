import { expect } from 'chai';

import type { Overview } from '../../src/backends/backend.js';
import { keysOf } from '../../src/backends/redis/keys.js';
import { describeWithServer } from '../support/require-server.js';
import type { PortFixture } from './port-fixture.js';
import { closeFixtures, describeOnBoth, ids, RedisFixture, request } from './port-fixture.js';

async function overviewOf({ backend, key }: PortFixture): Promise<Overview> {
  const reply = (await backend.overview?.([key]))?.[0];
  if (reply === undefined || 'error' in reply) throw new Error('it is damaged');
  // Places of one moment are a microsecond apart.
  return { ...reply, oldestWait: reply.oldestWait && Math.round(reply.oldestWait) };
}

describeOnBoth('the overview', (make) => {
  for (const order of [undefined, { group: 'a', weight: 1, priority: 0 }]) {
    it(`counts neither expired tickets nor requests of a process that is gone, ${order ? 'in groups' : 'in the order of arrival'}`, async () => {
      const one = make({ limit: 2 });
      await one.take('a.1', { ttl: 8000 });
      await one.take('b.1.1');
      await one.acquire(['gone.1', 'gone.2'].map((id) => request(id, 'wait', order)));
      one.pass(3000);
      await one.acquire('here.1');
      const newest = (await one.inspect()).holders.map(({ fencingToken }) => fencingToken);
      expect((await overviewOf(one)).tokens).to.have.members(newest);
      const shown = { limit: 2, limitFrom: 'caller', held: 2 };
      expect(await overviewOf(one)).to.deep.include({ ...shown, waiting: 3, oldestWait: 3000 });
      one.pass(3000);
      expect(await overviewOf(one)).to.deep.include({ ...shown, waiting: 1, oldestWait: 3000 });
      one.pass(2000);
      const { held, waiting } = await one.inspect();
      expect(await overviewOf(one)).to.deep.include({ held, waiting });
      expect(held).to.equal(1);
    });
  }
});

describeWithServer('the overview on a server', (server) => {
  after(closeFixtures);

  it('shows a damaged semaphore beside the others, and all tickets of a large one', async () => {
    const one = new RedisFixture(server(), { limit: 100_000 });
    const [first, hurt, text] = [
      one.key,
      { ...one.key, name: 'hurt' },
      { ...one.key, name: 'text' },
    ];
    const [tickets = '', info = ''] = keysOf(hurt);
    await one.redis.hset(tickets, 'no', 'sorted set');
    await one.redis.hset(info, 'state', 'no state | of ours');
    await one.redis.set(keysOf(text)[1] ?? '', 'no hash');
    await one.take('a.1');
    const replies = await one.backend.overview?.([hurt, first, text]);
    expect(replies?.[0])
      .to.have.property('error')
      .that.matches(/WRONGTYPE/);
    expect(replies?.[1]).to.include({ held: 1, waiting: 0 });
    expect(replies?.[2])
      .to.have.property('error')
      .that.matches(/WRONGTYPE/);
    for (let batch = 0; batch < 6; batch += 1) {
      await one.acquire(Array.from({ length: 1000 }, (_, i) => `b.${batch * 1000 + i}`));
    }
    expect(await overviewOf(one))
      .to.include({ held: 6001, waiting: 0 })
      .and.have.property('tokens')
      .with.length(32);
    await one.redis.del(...keysOf(hurt), ...keysOf(text), ...keysOf(first));
  });

  it('ends early if many semaphores have many tickets', async () => {
    const one = new RedisFixture(server(), { limit: 1000 });
    const keys = ids('many', 12).map((name) => ({ ...one.key, name }));
    for (const { name } of keys) {
      one.moveTo(name, 1000);
      await one.acquire(ids('b', 1000));
    }
    expect(await one.backend.overview?.(keys)).to.have.length.within(5, 11);
    expect((await one.backend.overview?.(keys.slice(-1)))?.[0]).to.include({ held: 1000 });
    await one.redis.del(...keys.flatMap(keysOf));
  });
});
