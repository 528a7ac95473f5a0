import { expect } from 'chai';

import { describeWithFakeClock, describeWithServer } from '../support/require-server.js';
import { closeBenches, granted, ids, request, ScriptBench } from './script-bench.js';

describeWithServer('scripts: fencing tokens', (server) => {
  after(closeBenches);

  it('are the server time in microseconds when that is larger than the last', async () => {
    const bench = new ScriptBench(server(), { realTime: true });
    const before = await bench.now();
    const { fencingToken } = await bench.take('a.1');
    expect(fencingToken).to.be.within(before, await bench.now());
    expect(fencingToken).to.satisfy(Number.isSafeInteger);
  });

  it('are last + 1 when time stands still, also within one call', async () => {
    const start = 1_700_000_000_000;
    const bench = new ScriptBench(server(), { limit: 1000, start });
    const { verdicts } = await bench.acquire(ids('a', 999));
    const tokens = verdicts.map((verdict) => granted(verdict).fencingToken);
    expect(tokens).to.deep.equal(ids('a', 999).map((_, i) => start * 1000 + i));
    expect((await bench.take('b.1')).fencingToken).to.equal(start * 1000 + 999);
  });

  it('rise when the clock steps back', async () => {
    const bench = new ScriptBench(server());
    const first = await bench.take('a.1');
    bench.pass(-3_600_000);
    const second = await bench.take('a.2');
    await bench.release(['a.1', 'a.2']);
    const third = await bench.take('a.3');
    expect(second.fencingToken).to.be.above(first.fencingToken);
    expect(third.fencingToken).to.be.above(second.fencingToken);
  });

  it('rise over grants of every way: at once, from the queue, pushed', async () => {
    const bench = new ScriptBench(server(), { limit: 1 });
    const tokens = [(await bench.take('a.1')).fencingToken];
    await bench.acquire(['b.1', 'b.2']);
    await bench.acquire('c.1');
    tokens.push((await bench.release('a.1', { client: 'b' })).grants[0]?.fencingToken ?? NaN);
    tokens.push((await bench.release('b.1')).grants[0]?.fencingToken ?? NaN);
    await bench.release('b.2');
    const [holder] = (await bench.inspect()).holders;
    expect(holder?.id).to.equal('c.1');
    tokens.push(holder?.fencingToken ?? NaN);
    tokens.forEach((token, i) => i > 0 && expect(token).to.be.above(tokens[i - 1] ?? NaN));
  });

  it('rise after FLUSHALL', async () => {
    const bench = new ScriptBench(server(), { realTime: true });
    const first = await bench.take('a.1');
    await bench.redis.flushall();
    expect((await bench.take('a.2')).fencingToken).to.be.above(first.fencingToken);
  });

  it('rise after the meta key is gone', async () => {
    const bench = new ScriptBench(server());
    const first = await bench.take('a.1');
    await bench.redis.del(bench.keyOf('meta'));
    bench.pass(1);
    const second = await bench.take('a.2');
    expect(second.fencingToken).to.be.above(first.fencingToken);
  });

  it('rise after all tickets are gone and the clock is set back', async () => {
    const bench = new ScriptBench(server());
    const first = await bench.take('a.1');
    await bench.release('a.1');
    bench.pass(-60_000);
    expect((await bench.take('a.2')).fencingToken).to.be.above(first.fencingToken);
  });

  it('of one request stay the same however often it asks', async () => {
    const bench = new ScriptBench(server(), { realTime: true });
    const first = await bench.take('a.1');
    await bench.extend('a.1');
    await bench.take('a.2');
    expect(await bench.take('a.1')).to.deep.equal(first);
    expect(granted((await bench.acquire([request('a.1', 'try')])).verdicts[0])).to.deep.equal(
      first,
    );
  });
});

describeWithFakeClock('scripts: fencing tokens of a server whose clock steps back', (server) => {
  after(closeBenches);

  it('rise', async () => {
    const bench = new ScriptBench(server(), { limit: 2, realTime: true });
    const first = await bench.take('a.1');
    await server().shiftClock(-30_000);
    const second = await bench.take('a.2');
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await bench.release(['a.1', 'a.2']);
    await server().shiftClock(-30_000);
    expect((await bench.take('a.3')).fencingToken).to.be.above(second.fencingToken);
  });
});
