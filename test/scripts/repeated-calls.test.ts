import { expect } from 'chai';

import type { TicketRequest } from '../../src/backend.js';
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

describeWithServer('scripts: calls that run twice', (server) => {
  after(closeBenches);

  /** With the clock standing still, a second run must change nothing at all. */
  function still(limit: number): ScriptBench {
    return new ScriptBench(server(), { limit });
  }

  async function twice<R>(bench: ScriptBench, call: () => Promise<R>): Promise<[R, R]> {
    const first = await call();
    const state = await bench.state();
    const second = await call();
    expect(await bench.state()).to.deep.equal(state);
    return [first, second];
  }

  it('acquire gives the same tickets, slots, tokens and places', async () => {
    const bench = still(3);
    const [first, second] = await twice(bench, () => bench.acquire(['a.1', 'a.2.2', 'a.3', 'a.4']));
    expect(kinds(first)).to.deep.equal(['granted', 'granted', 'queued', 'queued']);
    expect(second).to.deep.equal(first);
  });

  it('acquire gives the same ticket again when time has passed, with its full life', async () => {
    const bench = new ScriptBench(server(), { limit: 2, ttl: 1000 });
    const first = await bench.take('a.1');
    bench.pass(900);
    await bench.take('b.1');
    expect(await bench.take('a.1')).to.deep.equal(first);
    bench.pass(900);
    const { holders } = await bench.inspect();
    expect(holders.map(({ id, expiresIn }) => [id, expiresIn])).to.have.deep.members([
      ['a.1', 100],
      ['b.1', 100],
    ]);
  });

  it('acquire gives each of several tickets its full life again', async () => {
    const bench = new ScriptBench(server(), { limit: 3, ttl: 1000 });
    const first = await bench.acquire(['a.1', 'a.2', 'a.3']);
    bench.pass(900);
    expect((await bench.acquire(['a.1', 'a.2', 'a.3'])).verdicts).to.deep.equal(first.verdicts);
    for (const id of ['a.1', 'a.2', 'a.3']) expect(await bench.lifeOf(id), id).to.equal(1000);
  });

  it('a try that was granted is granted again; one that was refused leaves nothing', async () => {
    const bench = still(1);
    const [first, second] = await twice(bench, () =>
      bench.acquire([request('a.1', 'try'), request('a.2', 'try')]),
    );
    expect(kinds(first)).to.deep.equal(['granted', 'busy']);
    expect(second).to.deep.equal(first);
  });

  it('extend tells the same', async () => {
    const bench = still(3);
    await bench.acquire(['a.1', 'a.2']);
    const [first, second] = await twice(bench, () => bench.extend(['a.1', 'gone.1', 'a.2']));
    expect(first.extended).to.deep.equal([true, false, true]);
    expect(second).to.deep.equal(first);
  });

  it('acquire behind a loss of data leaves nothing that is extended for the lost ticket', async () => {
    const bench = still(3);
    const lost = await bench.take('a.1');
    await bench.redis.flushall();
    bench.pass(1);
    await bench.take('b.1');
    const anew = await bench.take('a.1');
    expect([lost.slots, anew.slots]).to.deep.equal([[0], [1]]);
    const { fencingToken: other } = await bench.take('a.2');
    const extend = async (...fencingTokens: number[]) =>
      (await bench.extend(['a.1', 'gone.1', 'a.2'], { fencingTokens })).extended;
    expect(await extend(lost.fencingToken, 1, other)).to.deep.equal([false, false, true]);
    expect(await extend(anew.fencingToken, 1, other)).to.deep.equal([true, false, true]);
    await bench.redis.hdel(bench.keyOf('meta'), 'a.1');
    expect(await extend(anew.fencingToken, 1, other), 'without its record').to.deep.equal([
      false,
      false,
      true,
    ]);
  });

  it('release frees the ticket once', async () => {
    const bench = still(2);
    await bench.acquire(['a.1', 'a.2']);
    await bench.acquire(['b.1', 'b.2']);
    const [first, second] = await twice(bench, () => bench.release('a.1'));
    expect([first.released, second.released]).to.deep.equal([[true], [false]]);
    expect(await bench.queue()).to.deep.equal(['b.2']);
    expect((await bench.inspect()).held).to.equal(2);
  });

  it('withdrawing a queued request twice withdraws it once', async () => {
    const bench = still(1);
    await bench.take('a.1');
    await bench.acquire(['b.1', 'b.2']);
    await twice(bench, () => bench.release('b.1'));
    expect(await bench.queue()).to.deep.equal(['b.2']);
  });

  it('a request that became a ticket keeps that ticket when its acquire arrives again', async () => {
    const bench = still(1);
    await bench.take('a.1');
    const arrival = arrivalOf((await bench.acquire('b.1')).verdicts[0]);
    await bench.release('a.1');
    const [first, second] = await twice(bench, () => bench.acquire([request('b.1', arrival)]));
    expect(granted(first.verdicts[0]).slots).to.deep.equal([0]);
    expect(second).to.deep.equal(first);
    expect(await bench.queue()).to.deep.equal([]);
  });

  describe('the same id twice in one call', () => {
    // Two withdrawals, or two tries of which one was thought lost, can travel together.
    it('release frees it once, and never a permit of somebody else', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.acquire(['a.1', 'b.1']);
      await bench.acquire(['c.1', 'c.2']);
      await bench.release(['a.1', 'a.1']);
      const { holders, held } = await bench.inspect();
      expect(holders.map(({ id }) => id)).to.have.members(['b.1', 'c.1']);
      expect(held).to.equal(2);
      expect(holders.flatMap(({ slots }) => slots)).to.have.members([0, 1]);
    });

    it('acquire takes one permit for it', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      const { verdicts } = await bench.acquire(['a.1', 'a.1']);
      expect(verdicts[1]).to.deep.equal(verdicts[0]);
      expect((await bench.take('b.1')).slots).to.deep.equal([1]);
    });

    it('acquire queues it once', async () => {
      const bench = new ScriptBench(server(), { limit: 1 });
      await bench.take('a.1');
      expect(kinds(await bench.acquire(['b.1', 'b.1']))).to.deep.equal(['queued', 'queued']);
      expect(await bench.queue()).to.deep.equal(['b.1']);
      await bench.release('a.1');
      expect(await bench.inspect()).to.include({ held: 1, waiting: 0 });
    });

    for (const [what, asked] of [
      ['known both times', (known: TicketRequest) => [known, known]],
      ['known, and as if new', (known: TicketRequest) => [known, 'b.1']],
    ] as const) {
      for (const queue of ['kept', 'lost']) {
        it(`acquire serves one that waits once: ${what}, its queue ${queue}`, async () => {
          const bench = new ScriptBench(server(), { limit: 2, ttl: 1000 });
          await bench.acquire(['a.1', 'a.2']);
          const waiting = request('b.1', arrivalOf((await bench.acquire('b.1')).verdicts[0]));
          if (queue === 'lost') await bench.redis.del(bench.keyOf('queue'));
          expect(kinds(await bench.acquire(asked(waiting)))).to.deep.equal(['queued', 'queued']);
          expect(await bench.queue()).to.deep.equal(['b.1']);
          bench.pass(1500);
          const { verdicts } = await bench.acquire(asked(waiting));
          expect(verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[0], [0]]);
          expect(await bench.inspect()).to.include({ held: 1, waiting: 0 });
        });
      }
    }

    it('extend tells the same twice', async () => {
      const bench = new ScriptBench(server(), { limit: 2 });
      await bench.take('a.1');
      expect((await bench.extend(['a.1', 'a.1'])).extended).to.deep.equal([true, true]);
      expect((await bench.inspect()).held).to.equal(1);
    });
  });

  it('thousands of repeats change nothing', async () => {
    const bench = still(500);
    const all = ids('a', 1000);
    const [first, second] = await twice(bench, () => bench.acquire(all));
    expect(second).to.deep.equal(first);
    const [freed, again] = await twice(bench, () => bench.release(all.slice(0, 500)));
    expect(freed.grants.map(({ id }) => id)).to.deep.equal(all.slice(500));
    expect(again.grants).to.deep.equal([]);
  });
});

// A script that never ends blocks its server for good: this one has no other tests.
describeWithServer('scripts: the same dropped request twice in one call', (server) => {
  after(closeBenches);

  it('ends, and takes one permit', async () => {
    const bench = new ScriptBench(server(), { limit: 2 });
    const again = request('a.1', 1_700_000_000_000_000);
    const reply = await bench.acquire([again, again]);
    expect(reply.verdicts.map((verdict) => granted(verdict).slots)).to.deep.equal([[0], [0]]);
    expect((await bench.inspect()).held).to.equal(1);
    expect((await bench.take('b.1')).slots).to.deep.equal([1]);
  });
});
