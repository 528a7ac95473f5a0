import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import {
  arrivalOf,
  closeBenches,
  granted,
  ids,
  kinds,
  request,
  ScriptBench,
} from './script-bench.js';

describeWithServer('scripts: order of the queue', (server) => {
  after(closeBenches);

  /** Ids of those who hold, in the order of their grants. */
  async function holders(bench: ScriptBench): Promise<string[]> {
    const { holders: all } = await bench.inspect();
    return all.toSorted((a, b) => a.fencingToken - b.fencingToken).map(({ id }) => id);
  }

  it('is the order of arrival over clients and calls', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(['b.1', 'b.2']);
    await bench.acquire(['a.1']);
    await bench.acquire(['c.1', 'b.3'], { client: 'c' });
    const expected = ['b.1', 'b.2', 'a.1', 'c.1', 'b.3'];
    expect(await bench.queue()).to.deep.equal(expected);
    for (const [i, id] of expected.entries()) {
      await bench.release(expected[i - 1] ?? 'x.1');
      expect(await holders(bench)).to.deep.equal([id]);
    }
  });

  it('is the order of arrival when time stands still or goes back', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(['b.2', 'b.1']);
    await bench.acquire(['a.1']);
    bench.pass(-2000);
    await bench.acquire(['c.1']);
    expect(await bench.queue()).to.deep.equal(['b.2', 'b.1', 'a.1', 'c.1']);
  });

  it('shows waiters with position, permits, time and label', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.take('x.1');
    await bench.acquire(['a.1.2'], { label: 'first; one' });
    bench.pass(1500);
    await bench.acquire(['b.1'], { label: '' });
    bench.pass(500);
    const { waiters } = await bench.inspect();
    expect(waiters.map((w) => ({ ...w, waitingFor: Math.round(w.waitingFor) }))).to.deep.equal([
      { id: 'a.1.2', permits: 2, position: 0, waitingFor: 2000, label: 'first; one' },
      { id: 'b.1', permits: 1, position: 1, waitingFor: 500, label: '' },
    ]);
  });

  it('tells a new request nothing but a place while others wait', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['x.1', 'x.2']);
    await bench.acquire('a.1');
    expect(kinds(await bench.acquire(['b.1', request('b.2', 'try')]))).to.deep.equal([
      'queued',
      'busy',
    ]);
  });

  it('keeps the place that a request was told, however often it asks', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    await bench.acquire('b.1');
    for (const again of ['wait', place] as const) {
      expect(arrivalOf((await bench.acquire([request('a.1', again)])).verdicts[0])).to.equal(place);
    }
    expect(await bench.queue()).to.deep.equal(['a.1', 'b.1']);
  });

  it('gives a request that was dropped its old place again', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    await bench.acquire(['b.1', 'b.2']);
    await bench.redis.zrem(bench.keyOf('queue'), 'a.1');
    expect(arrivalOf((await bench.acquire([request('a.1', place)])).verdicts[0])).to.equal(place);
    expect(await bench.queue()).to.deep.equal(['a.1', 'b.1', 'b.2']);
  });

  it('gives dropped requests of many clients their order again after all data were lost', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const places = new Map<string, number>();
    for (const id of ['a.1', 'b.1', 'c.1']) {
      places.set(id, arrivalOf((await bench.acquire(id)).verdicts[0]));
    }
    await bench.redis.flushall();
    bench.pass(1);
    await bench.take('y.1');
    for (const id of ['c.1', 'a.1', 'b.1']) await bench.acquire([request(id, places.get(id))]);
    await bench.acquire('d.1');
    expect(await bench.queue()).to.deep.equal(['a.1', 'b.1', 'c.1', 'd.1']);
  });

  it('lets a request that returns to its place pass those behind it at once', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    const place = arrivalOf((await bench.acquire('a.1')).verdicts[0]);
    await bench.acquire('b.1');
    await bench.redis.zrem(bench.keyOf('queue'), 'a.1');
    await bench.expire('x.1');
    expect(kinds(await bench.acquire([request('a.1', place)]))).to.deep.equal(['granted']);
    expect(await bench.queue()).to.deep.equal(['b.1']);
  });

  describe('grants freed permits to the head in the same call', () => {
    it('release', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.acquire(['x.1', 'x.2']);
      await bench.acquire(['a.1', 'a.2', 'a.3']);
      await bench.release(['x.1', 'x.2']);
      expect(await holders(bench)).to.deep.equal(['a.1', 'a.2']);
      expect(await bench.queue()).to.deep.equal(['a.3']);
    });

    it('purge in extend', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.acquire(['x.1', 'x.2']);
      await bench.acquire('a.1');
      await bench.expire('x.1');
      await bench.extend('x.2');
      expect(await holders(bench)).to.deep.equal(['x.2', 'a.1']);
    });

    it('purge in acquire, before the new request', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire('a.1');
      await bench.expire('x.1');
      expect(kinds(await bench.acquire('b.1'))).to.deep.equal(['queued']);
      expect(await holders(bench)).to.deep.equal(['a.1']);
    });

    it('purge in release of something else', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('x.1');
      await bench.acquire('a.1');
      await bench.expire('x.1');
      await bench.release('gone.1');
      expect(await holders(bench)).to.deep.equal(['a.1']);
    });

    it('withdrawal of a head that blocked', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.take('x.1');
      await bench.acquire('big.1.2');
      await bench.acquire('a.1');
      await bench.release('big.1.2');
      expect(await holders(bench)).to.deep.equal(['x.1', 'a.1']);
    });
  });

  it('does not let small requests starve a big one at the head', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['x.1', 'x.2', 'x.3']);
    await bench.acquire('big.1.3');
    await bench.acquire(['a.1', 'a.2']);
    for (const id of ['x.1', 'x.2']) {
      await bench.release(id);
      expect(await bench.queue()).to.deep.equal(['big.1.3', 'a.1', 'a.2']);
      expect(kinds(await bench.acquire([request('b.1', 'try')]))).to.deep.equal(['busy']);
    }
    await bench.release('x.3');
    expect(await holders(bench)).to.deep.equal(['big.1.3']);
    await bench.release('big.1.3');
    expect(await holders(bench)).to.deep.equal(['a.1', 'a.2']);
  });

  describe('after the limit was made smaller', () => {
    it('steps over a request that can never fit', async () => {
      const bench = new ScriptBench(server(), { limit: 3 });
      await bench.acquire(['x.1', 'x.2', 'x.3']);
      await bench.acquire(['big.1.3', 'big.2.3']);
      await bench.acquire(['a.1', 'a.2']);
      await bench.redis.hset(bench.keyOf('meta'), 'limit', '2');
      await bench.release(['x.1', 'x.2', 'x.3']);
      expect(await holders(bench)).to.deep.equal(['a.1', 'a.2']);
      expect(await bench.queue()).to.deep.equal(['big.1.3', 'big.2.3']);
      await bench.release(['a.1', 'a.2']);
      expect(kinds(await bench.acquire('b.1'))).to.deep.equal(['granted']);
      await bench.redis.hset(bench.keyOf('meta'), 'limit', '4');
      await bench.extend('b.1');
      expect(await holders(bench)).to.deep.equal(['b.1', 'big.1.3']);
    });

    it('queues no new request that asks for more, and keeps one that was queued', async () => {
      const bench = new ScriptBench(server(), { limit: 3 });
      await bench.take('x.1');
      await bench.acquire('old.1.3');
      await bench.redis.hset(bench.keyOf('meta'), 'limit', '2');
      const asked = [request('a.1.3', 'wait'), request('a.2.3', 'try'), request('a.3', 'wait')];
      const { verdicts } = await bench.acquire(asked);
      expect(verdicts.slice(0, 2)).to.deep.equal([
        { kind: 'over', limit: 2 },
        { kind: 'over', limit: 2 },
      ]);
      expect(verdicts[2]?.kind).to.equal('granted');
      expect(await bench.queue()).to.deep.equal(['old.1.3']);
      expect(kinds(await bench.acquire('old.1.3'))).to.deep.equal(['queued']);
    });

    it('writes nothing for a request that asks for more than there ever were', async () => {
      const bench = new ScriptBench(server(), { limit: 3 });
      const { verdicts } = await bench.acquire('a.1.4');
      expect(verdicts).to.deep.equal([{ kind: 'over', limit: 3 }]);
      expect(await bench.state()).to.deep.equal(
        await new ScriptBench(server(), { limit: 3 }).state(),
      );
    });

    it('holds back until enough holders have left', async () => {
      const bench = new ScriptBench(server(), { limit: 4 });
      await bench.acquire(ids('x', 4));
      await bench.acquire('a.1');
      await bench.redis.hset(bench.keyOf('meta'), 'limit', '2');
      expect((await bench.inspect()).limit).to.equal(2);
      await bench.release(['x.1', 'x.2']);
      expect(await bench.queue()).to.deep.equal(['a.1']);
      await bench.release('x.4');
      expect(await holders(bench)).to.deep.equal(['x.3', 'a.1']);
      expect((await bench.inspect()).holders.flatMap(({ slots }) => slots)).to.have.members([0, 2]);
    });
  });

  it('withdraws a queued request, a granted one and one that never was', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    await bench.take('x.1');
    await bench.acquire(['a.1', 'a.2']);
    expect((await bench.release(['a.1', 'never.1'])).released).to.deep.equal([false, false]);
    expect(await bench.queue()).to.deep.equal(['a.2']);
    await bench.release('x.1');
    expect((await bench.release('a.2')).released).to.deep.equal([true]);
    expect(await bench.parts()).to.deep.equal(['meta']);
  });

  it('tells the caller of its own grants with the reply, each to its own client', async () => {
    const bench = new ScriptBench(server(), { limit: 3 });
    await bench.acquire(['x.1', 'x.2', 'x.3']);
    await bench.acquire('a.1');
    await bench.acquire('b.1');
    await bench.acquire('a.2');
    const pushed: string[] = [];
    const listening = await listen(bench, 'b', pushed);
    const { grants } = await bench.release(['x.1', 'x.2', 'x.3'], { client: 'a' });
    expect(grants.map(({ id, slots }) => [id, slots])).to.deep.equal([
      ['a.1', [0]],
      ['a.2', [2]],
    ]);
    while (pushed.length === 0) await bench.redis.ping();
    await listening.close();
    expect(pushed).to.deep.equal(['b.1']);
  });

  it('does not repeat among the grants what a verdict already tells', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    await bench.acquire(['x.1', 'x.2']);
    await bench.acquire(['a.1', 'a.2']);
    await bench.expire('x.1', 'x.2');
    const { verdicts, grants } = await bench.acquire('a.1');
    expect(granted(verdicts[0]).slots).to.deep.equal([0]);
    expect(grants.map(({ id }) => id)).to.deep.equal(['a.2']);
  });

  async function listen(bench: ScriptBench, client: string, pushed: string[]) {
    return new Promise<{ close(): Promise<void> }>((resolve) => {
      const listening = bench.backend.listen?.(client, bench.prefix, {
        onGrants: (grants) => pushed.push(...grants.map(({ id }) => id)),
        onHealth: () => queueMicrotask(() => resolve(listening ?? { close: async () => {} })),
      });
    });
  }
});
