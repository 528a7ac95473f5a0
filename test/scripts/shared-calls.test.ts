import { expect } from 'chai';

import type { AcquireCall, SemaphoreKey } from '../../src/backends/backend.js';
import { describeWithServer } from '../support/require-server.js';
import { closeFixtures, kinds, RedisFixture, request } from './port-fixture.js';

describeWithServer('calls of many semaphores, on Redis', (server) => {
  after(closeFixtures);

  const keys = (start: string, count: number): SemaphoreKey[] =>
    Array.from({ length: count }, (_, i) => ({ prefix: 'redsem', name: `${start}-${i}` }));

  const call = (key: SemaphoreKey, id: string, rest: Partial<AcquireCall> = {}): AcquireCall => ({
    key,
    client: 'c',
    limit: 1,
    ttl: 30_000,
    label: 'l',
    notAfter: undefined,
    requests: [request(id)],
    ...rest,
  });

  it('may name a semaphore twice, and give each call the outcome of its request', async () => {
    const fixture = new RedisFixture(server());
    const [one, two] = keys('twice', 2);
    if (one === undefined || two === undefined) throw new Error('expected two keys');
    const acquired = await fixture.backend.acquire([
      call(one, 'c.1'),
      call(two, 'c.2', { ttl: 1000 }),
      call(one, 'c.3', { label: 'other', requests: [request('c.3', 'try'), request('c.4')] }),
    ]);
    expect(acquired.map(kinds)).to.deep.equal([['granted'], ['granted'], ['busy', 'queued']]);
    const released = await fixture.backend.release([
      { key: two, client: 'c', limit: 1, ids: ['c.2'] },
      { key: one, client: 'c', limit: 0, ids: ['c.9', 'c.1'] },
    ]);
    expect(released.map((reply) => reply.released)).to.deep.equal([[true], [false, true]]);
    expect(released.map((reply) => reply.grants.map(({ id }) => id))).to.deep.equal([[], ['c.4']]);
  });
});
