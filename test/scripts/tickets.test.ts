import { expect } from 'chai';

import { describeWithFakeClock } from '../support/require-server.js';
import type { PortFixture } from './port-fixture.js';
import {
  closeFixtures,
  describeOnBoth,
  granted,
  ids,
  kinds,
  RedisFixture,
  request,
} from './port-fixture.js';

describeOnBoth('tickets', (make) => {
  it('end at their very microsecond, and their slots are used again, lowest first', async () => {
    const one = make({ limit: 5, ttl: 1000 });
    await one.acquire(ids('a', 5));
    await one.extend(['a.1', 'a.3', 'a.5'], { ttl: 5000 });
    one.pass(999.999);
    expect(await one.try('b.1')).to.equal('busy');
    one.pass(0.001);
    expect((await one.inspect()).held).to.equal(3);
    expect((await one.extend('a.2')).extended).to.deep.equal([false]);
    expect((await one.release('a.4')).released).to.deep.equal([false]);
    expect((await one.take('b.1')).slots).to.deep.equal([1]);
    expect((await one.take('b.2')).slots).to.deep.equal([3]);
  });

  describe('have fencing tokens', () => {
    it('that are the time in microseconds, or the last token plus 1', async () => {
      const [start, behind] = [1_795_236_819_680.065, 3_600_000];
      const one = make({ limit: 2000, time: { now: start } });
      const { verdicts } = await one.acquire(ids('a', 999));
      const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
      expect(tokens).to.deep.equal(ids('a', 999).map((_, i) => start * 1000 + i));
      expect((await one.take('b.1')).fencingToken).to.equal(start * 1000 + 999);
      one.pass(-behind);
      expect((await one.take('b.2')).fencingToken).to.equal(start * 1000 + 1000);
      await one.release([...ids('a', 999), 'b.1', 'b.2']);
      expect((await one.take('b.3')).fencingToken).to.equal(start * 1000 + 1001);
      one.pass(2 * behind);
      expect((await one.take('b.4')).fencingToken).to.be.closeTo((start + behind) * 1000, 1);
    });

    it('that rise over the end of a second as over any other moment', async () => {
      for (const micros of [999_990, 999_994, 999_999, 0]) {
        const one = make({ limit: 20, time: { now: 1_700_000_000_000 + micros / 1000 } });
        const { verdicts } = await one.acquire(ids('a', 12));
        const [first, ...rest] = verdicts.map((verdict) => granted(verdict).fencingToken);
        expect(rest).to.deep.equal(rest.map((_, i) => (first ?? NaN) + 1 + i));
        expect((await one.take('b.1')).fencingToken).to.equal((rest.at(-1) ?? NaN) + 1);
      }
    });
  });

  it('may be asked for twice of a semaphore in one call, beside those of another', async () => {
    const { backend, key } = make();
    const [x, y] = [key, { ...key, name: `other than ${key.name}` }];
    const call = { client: 'c', limit: 1, ttl: 30_000, label: 'l', notAfter: undefined };
    const acquired = await backend.acquire([
      { ...call, key: x, requests: [request('c.1')] },
      { ...call, key: y, ttl: 1000, requests: [request('c.2')] },
      { ...call, key: x, label: 'other', requests: [request('c.3', 'try'), request('c.4')] },
    ]);
    expect(acquired.map(kinds)).to.deep.equal([['granted'], ['granted'], ['busy', 'queued']]);
    const released = await backend.release([
      { key: y, client: 'c', limit: 1, ids: ['c.2'] },
      { key: x, client: 'c', limit: 0, ids: ['c.9', 'c.1'] },
    ]);
    expect(released.map((reply) => reply.released)).to.deep.equal([[true], [false, true]]);
    expect(released.map((reply) => reply.grants.map(({ id }) => id))).to.deep.equal([[], ['c.4']]);
  });

  it('are refused by every call from the microsecond after its notAfter on', async () => {
    const now = 1_700_000_000_000.5;
    const calls: Record<string, (one: PortFixture, notAfter: number) => Promise<object>> = {
      acquire: (one, notAfter) => one.acquire('b.1', { notAfter }),
      adopt: (one, notAfter) => one.adopt('a.1', 'c.1', { notAfter }),
      setLimit: (one, notAfter) => one.setLimit(5, { notAfter }),
      addPermits: (one, notAfter) => one.addPermits(1, 'x.1', { notAfter }),
      setRate: (one, notAfter) => one.setRate({ permits: 1, per: 1000, burst: 1 }, { notAfter }),
      setGroupLimit: (one, notAfter) => one.setGroupLimit(1, { notAfter }),
    };
    for (const [what, call] of Object.entries(calls)) {
      for (const early of [0.001, 0]) {
        const one = make({ limit: 2, time: { now } });
        await one.take('a.1');
        const reply = JSON.stringify(await call(one, now - early));
        expect(/"late":true|"kind":"late"/.test(reply), what).to.equal(early > 0);
      }
    }
  });
});

describeWithFakeClock('tickets of a server whose clock steps back', (server) => {
  after(closeFixtures);

  it('have rising tokens, which are its TIME in microseconds', async () => {
    const one = new RedisFixture(server(), { limit: 2 }, true);
    const time = async (): Promise<number> => {
      const [seconds, micros] = await one.redis.time();
      return Number(seconds) * 1e6 + Number(micros);
    };
    const before = await time();
    const first = await one.take('a.1');
    expect(first.fencingToken).to.be.within(before, await time());
    await server().shiftClock(-30_000);
    const second = await one.take('a.2');
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await one.release(['a.1', 'a.2']);
    await server().shiftClock(-30_000);
    expect((await one.take('a.3')).fencingToken).to.be.above(second.fencingToken);
  });
});
