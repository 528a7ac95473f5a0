import { expect } from 'chai';
import RedisMock from 'ioredis-mock';

import { Semaphore } from '../../src/index.js';

describe('a quorum of ioredis-mock', () => {
  it('tells who holds', async () => {
    const mocks = [1, 2, 3].map((port) => new RedisMock({ port: 7900 + port }));
    const semaphore = new Semaphore(mocks, 'mocked', { limit: 200 });
    const one = await semaphore.acquire(2000);
    const many = await semaphore.acquire({ permits: 150, timeout: 2000 });
    const { held, holders } = await semaphore.inspect();
    expect(held).to.equal(151);
    expect(holders.map(({ id, slots }) => [id, slots.length])).to.deep.equal([
      [one.id, 1],
      [many.id, 150],
    ]);
    await many.release();
    await one.release();
    expect((await semaphore.inspect()).held).to.equal(0);
    await semaphore.close();
    for (const mock of mocks) mock.disconnect();
  });
});
