import { expect } from 'chai';

import type { AcquireCall } from '../../src/backends/backend.js';
import { keysOf } from '../../src/backends/redis/keys.js';
import { RedisBackend } from '../../src/backends/redis/redis-backend.js';
import { describeWithServer } from '../support/require-server.js';
import { closeFixtures, granted, kinds, RedisFixture, request } from './port-fixture.js';

describeWithServer('all tickets or none, on Redis', (server) => {
  after(closeFixtures);

  class Several extends RedisFixture {
    readonly calls: AcquireCall[];

    constructor(start: string, limit = 1) {
      super(server());
      this.calls = Array.from({ length: 10 }, (_, i) => ({
        key: { prefix: 'redsem', name: `${start}-${i}` },
        requests: [request(`c.${i + 1}`, 'try')],
        client: 'c',
        limit,
        ttl: 30_000,
        label: 'l',
        notAfter: undefined,
      }));
    }

    acquire10(change: (call: AcquireCall, i: number) => Partial<AcquireCall> = () => ({})) {
      if (!(this.backend instanceof RedisBackend)) throw new TypeError('expected Redis');
      return this.backend.acquireTogether(
        this.calls.map((one, i) => ({ ...one, ...change(one, i) })),
      );
    }

    /** Every key as it is in Redis, byte by byte. */
    async bytes(): Promise<(Buffer | null)[]> {
      const keys = this.calls.flatMap(({ key }) => keysOf(key));
      return Promise.all(keys.map((key) => this.redis.dumpBuffer(key)));
    }

    async own(): Promise<unknown[]> {
      const all = await this.acquire10();
      return (all ?? []).map(({ verdicts: [verdict] }) => granted(verdict));
    }
  }

  it('take one script call where all are free', async () => {
    const several = new Several('free');
    await several.take('w.1');
    const before = several.replies.length;
    expect((await several.acquire10())?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
    expect(several.replies.length - before).to.equal(1);
  });

  for (const busy of [0, 4, 9]) {
    it(`write nothing where number ${busy} is held`, async () => {
      const several = new Several(`busy-${busy}`);
      const held = several.calls.slice(busy, busy + 1);
      // Some were used before, the others never.
      const [used] = several.calls.slice((busy + 1) % 10);
      if (used === undefined) throw new Error('expected ten calls');
      const others = [...held, used].map((one) => ({ ...one, requests: [request('other.1')] }));
      await several.backend.acquire(others);
      await several.backend.release([{ ...used, ids: ['other.1'] }]);
      const before = await several.bytes();
      expect(await several.acquire10()).to.equal(undefined);
      expect(await several.bytes()).to.deep.equal(before);
    });
  }

  it('write nothing where others wait', async () => {
    const several = new Several('queue', 2);
    const [one] = several.calls;
    if (one === undefined) throw new Error('expected ten calls');
    await several.backend.acquire([
      { ...one, requests: [request('a.1'), { ...request('b.1.2'), permits: 2 }] },
    ]);
    const before = await several.bytes();
    expect(await several.acquire10()).to.equal(undefined);
    expect(await several.bytes()).to.deep.equal(before);
  });

  for (const limit of [1, 2]) {
    it(`are the same where the call runs twice, limit ${limit}`, async () => {
      const several = new Several(`again-${limit}`, limit);
      const first = await several.own();
      expect(first).to.have.length(10);
      expect(await several.own()).to.deep.equal(first);
    });
  }

  it('are refused together once it is past the earliest time that any names', async () => {
    const several = new Several('late');
    const all = await several.acquire10((_, i) => ({
      notAfter: several.time.now + (i === 7 ? -1 : 1000),
    }));
    expect(all?.flatMap(kinds)).to.deep.equal(Array(10).fill('late'));
    expect((await several.bytes()).filter((bytes) => bytes !== null)).to.deep.equal([]);
    const inTime = await several.acquire10(() => ({ notAfter: several.time.now + 1 }));
    expect(inTime?.flatMap(kinds)).to.deep.equal(Array(10).fill('granted'));
  });

  it('are not asked for where calls cannot be one', async () => {
    const several = new Several('odd', 3);
    const [one] = several.calls;
    if (one === undefined) throw new Error('expected ten calls');
    for (const odd of [
      { requests: [request('c.1')] },
      { requests: [request('c.1.2', 'try')] },
      { requests: [request('c.1', 'try'), request('c.2', 'try')] },
      { requests: [{ ...request('c.1', 'try'), arrival: 7 }] },
    ]) {
      expect(await several.acquire10((_, i) => (i === 3 ? odd : {}))).to.equal(undefined);
    }
    expect(await several.acquire10(() => ({ key: one.key }))).to.equal(undefined);
    expect(several.replies).to.deep.equal([]);
  });
});
