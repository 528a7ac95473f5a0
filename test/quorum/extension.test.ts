import { expect } from 'chai';

import { QuorumError } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { BackendBench, onAll } from './backend-bench.js';
import { dead, HUNG } from './troubled-node.js';

describe('extending by majority', () => {
  it('goes on with any minority dead or hung', async () => {
    for (const other of [dead, () => HUNG]) {
      const bench = new BackendBench(5, 2);
      await bench.take('a.1');
      for (const pair of [
        [0, 1, 2],
        [1, 2, 3],
        [0, 2, 4],
      ]) {
        bench.only(pair, other);
        await bench.clock.advance(600);
        expect(await bench.extend('a.1')).to.deep.equal([true]);
      }
    }
  });

  it('puts all tickets back with one call on a node that lost its data', async () => {
    const bench = new BackendBench(3, 50, 30_000);
    const ids = Array.from({ length: 50 }, (_, i) => `a.${i + 1}`);
    for (const id of ids) await bench.take(id);
    await bench.clock.advance(10);
    const [, node] = bench.nodes;
    const before = node?.calls.keep ?? 0;
    node?.memory.restart();
    expect(await bench.extend(...ids)).to.deep.equal(ids.map(() => true));
    await bench.clock.advance(10);
    expect(await bench.holders()).to.deep.equal(onAll(ids.toSorted()));
    expect((node?.calls.keep ?? 0) - before).to.equal(2);
  });

  it('puts a ticket back where a minority lost it, with its slots and token', async () => {
    const bench = new BackendBench(3, 4, 30_000);
    const { fencingToken } = await bench.take('a.1.2');
    bench.nodes[1]?.memory.restart();
    expect(await bench.extend('a.1.2')).to.deep.equal([true]);
    await bench.clock.advance(10);
    expect(await bench.holders()).to.deep.equal(onAll(['a.1.2']));
    // Now any other may lose its data.
    bench.nodes[0]?.memory.restart();
    bench.only([0, 1], () => HUNG);
    const [holder] = (await bench.inspect()).holders;
    expect(holder).to.equal(undefined);
    expect(await bench.extend('a.1.2')).to.deep.equal([true]);
    await bench.clock.advance(10);
    const [again] = (await bench.inspect()).holders;
    expect(again).to.deep.include({ slots: [0, 1], fencingToken, label: 'label of a.1.2' });
  });

  it('loses what a majority lost, and revives it nowhere', async () => {
    const bench = new BackendBench(3, 1);
    await bench.take('a.1');
    bench.nodes[0]?.memory.restart();
    bench.nodes[1]?.memory.restart();
    expect(await bench.extend('a.1')).to.deep.equal([false]);
    await bench.clock.advance(50);
    expect((await bench.holders()).slice(0, 2)).to.deep.equal([[], []]);
  });

  it('does not take back a slot that somebody else has got meanwhile', async () => {
    const bench = new BackendBench(3, 1);
    await bench.take('a.1');
    bench.nodes[0]?.memory.restart();
    bench.only([0], dead);
    await errorOf(bench.tryFor('b.1'), QuorumError);
    bench.only([0, 1, 2], dead);
    expect(await bench.extend('a.1')).to.deep.equal([true]);
  });

  it('does not tell that a ticket is gone while too few nodes answer', async () => {
    const bench = new BackendBench(3, 1);
    await bench.take('a.1');
    bench.only([0], () => HUNG);
    const error = await errorOf(bench.extend('a.1'), QuorumError);
    expect(error.reasons.map((reason) => reason === undefined)).to.deep.equal([true, false, false]);
    bench.only([0, 1, 2], dead);
    expect(await bench.extend('a.1')).to.deep.equal([true]);
  });

  it('keeps the tickets that have a majority when another one of the same call is in doubt', async () => {
    const bench = new BackendBench(3, 2);
    await bench.take('a.1');
    bench.nodes[0]?.memory.restart();
    // This one is on all nodes; the first is on 1 and 2 alone, of which 2 falls silent.
    await bench.take('a.2');
    bench.only([0, 1], () => HUNG);
    expect(await bench.extend('a.1', 'a.2')).to.deep.equal([true, true]);
    expect((await bench.holders())[0]).to.include('a.1');
  });

  it('puts nothing back for a ticket that was released meanwhile', async () => {
    const bench = new BackendBench(3, 1);
    await bench.take('a.1');
    bench.nodes[2]?.memory.restart();
    for (const node of bench.nodes) node.fate = () => ({ request: 3, reply: 3 });
    const extending = bench.extend('a.1');
    await bench.clock.advance(4);
    await bench.release('a.1');
    await extending;
    await bench.clock.advance(100);
    expect((await bench.holders()).flat()).to.deep.equal([]);
  });
});
