import { expect } from 'chai';

import { describeWithServer } from '../support/require-server.js';
import { arrivalOf, closeBenches, granted, ids, ScriptBench } from './script-bench.js';

describeWithServer('scripts: numbers keep all their digits', (server) => {
  after(closeBenches);

  /** A time whose last digits would be lost by 14 digits, and by floats of milliseconds. */
  const NOW = 1_795_236_819_680.065;

  const FAR_AHEAD = 8_995_236_819_680.125;

  function still(limit: number): ScriptBench {
    return new ScriptBench(server(), { limit, start: NOW });
  }

  it('tokens, scores, arrivals and times', async () => {
    const bench = still(1);
    const reply = await bench.acquire(['a.1', 'b.1'], { ttl: 1234 });
    expect(bench.replies[0]).to.match(/^1795236819680065\|1795236820914065\|/);
    expect(granted(reply.verdicts[0]).fencingToken.toString()).to.match(/^17952368196800\d\d$/);
    expect(arrivalOf(reply.verdicts[1]).toString()).to.match(/^17952368196800\d\d$/);
    const { tickets, queue, waiters } = await bench.state();
    expect(tickets).to.deep.equal(['a.1', '1795236820914065']);
    expect(queue).to.deep.equal(['b.1', String(arrivalOf(reply.verdicts[1]))]);
    expect(waiters).to.deep.equal(['a', '1795236824680065']);
  });

  it('everything that a pushed grant says', async () => {
    const bench = still(1);
    await bench.take('a.1');
    await bench.acquire('b.1');
    const { grants } = await bench.release('a.1', { client: 'b' });
    expect(grants).to.have.length(1);
    expect(grants[0]?.fencingToken.toString()).to.match(/^17952368196800\d\d$/);
    expect(bench.replies.at(-1)).to.match(/ 1795236824680065$/);
  });

  it('a token that comes from a last one far ahead of the clock', async () => {
    const bench = new ScriptBench(server(), { limit: 2, start: FAR_AHEAD });
    expect((await bench.take('a.1')).fencingToken).to.equal(8_995_236_819_680_125);
    bench.pass(NOW - FAR_AHEAD);
    expect((await bench.take('a.2')).fencingToken).to.equal(8_995_236_819_680_126);
    await bench.release(['a.1', 'a.2']);
    expect((await bench.take('a.3')).fencingToken).to.equal(8_995_236_819_680_127);
  });

  it('slots beyond a million, in ranges and alone', async () => {
    const bench = still(10_000_000);
    const weights = ids('a', 12).map((id) => `${id}.100000`);
    for (const [i, id] of weights.entries()) {
      const { slots } = await bench.take(id);
      const start = i * 100_000;
      expect([slots.length, slots[0], slots.at(-1)]).to.deep.equal([
        100_000,
        start,
        start + 99_999,
      ]);
    }
    await bench.take('c.1');
    await bench.release('a.11.100000');
    expect((await bench.take('b.1')).slots).to.deep.equal([1_000_000]);
    const { slots } = await bench.take('b.2.100002');
    expect([slots[0], slots[99_998], slots[99_999], slots.at(-1)]).to.deep.equal([
      1_000_001, 1_099_999, 1_200_001, 1_200_003,
    ]);
    expect((await bench.take('b.3')).slots).to.deep.equal([1_200_004]);
    const { holders, held } = await bench.inspect();
    expect(held).to.equal(1_200_005);
    expect(holders.find(({ id }) => id === 'b.2.100002')?.slots).to.deep.equal(slots);
    expectPlainNumbers(bench.replies);
  });

  it('every reply and every key after calls of every kind', async () => {
    const bench = new ScriptBench(server(), { limit: 2_000_000 });
    await bench.acquire(['a.1.999999', 'a.2.20', 'a.3.999981', 'b.1.5', 'b.2']);
    await bench.extend(['a.1.999999'], { ttl: 2_147_483_647 });
    await bench.release(['a.2.20']);
    await bench.inspect();
    expectPlainNumbers([bench.replies, await bench.state()]);
  });
});

function expectPlainNumbers(found: unknown): void {
  const shown = JSON.stringify(found).replaceAll(/[abc]\.\d+(\.\d+)?/g, 'id');
  expect(shown).not.to.match(/\d\.\d|\de[+-]?\d|inf|nan/i);
}
