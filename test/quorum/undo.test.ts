import { expect } from 'chai';

import { QuorumError } from '../../src/index.js';
import { errorOf } from '../support/rejection.js';
import { BackendBench, KEY, onAll } from './backend-bench.js';
import type { Fate } from './troubled-node.js';
import { AT_ONCE, dead, HUNG } from './troubled-node.js';

/** The first call is executed, but nobody hears of it; then the node hangs. */
function onceUnheard(): () => Fate {
  let calls = 0;
  return () => (calls++ === 0 ? { request: 0, reply: undefined } : HUNG);
}

describe('what was taken for nothing', () => {
  it('is undone on all nodes, and on silent ones as soon as they answer', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    for (const node of bench.nodes.slice(1)) node.fate = onceUnheard();
    await errorOf(bench.tryFor('a.1'), QuorumError);
    expect(await bench.holders()).to.deep.equal([[], ['a.1'], ['a.1']]);
    expect(bench.backend('a').undoing).to.equal(2);
    bench.only([0, 1, 2], dead);
    await bench.clock.advance(3000);
    expect(await bench.holders()).to.deep.equal([[], [], []]);
    expect(bench.backend('a').undoing).to.equal(0);
  });

  it('is undone at the first sign of life of a node, and not only when the next pause is over', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    bench.only([0], dead);
    await errorOf(bench.tryFor('a.1'), QuorumError);
    // Pauses between tries have grown to more than half a second by now.
    await bench.clock.advance(6000);
    for (const node of bench.nodes) await node.memory.take(left('a.1'));
    bench.only([0, 1, 2], dead);
    await bench.inspect('a');
    await bench.clock.advance(5);
    expect((await bench.holders()).slice(1)).to.deep.equal([[], []]);
  });

  it('is undone when it was put back after its ticket had been released', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    await bench.take('a.1');
    const [, , slow] = bench.nodes;
    slow?.memory.restart();
    if (slow !== undefined) {
      slow.keep = async (call) => {
        const delay = call.requests[0]?.mode === 'restore' ? 30 : 0;
        await new Promise<void>((resolve) => bench.clock.schedule(resolve, delay));
        return slow.memory.keep(call);
      };
    }
    expect(await bench.extend('a.1')).to.deep.equal([true]);
    await bench.clock.advance(5);
    expect(await bench.release('a.1')).to.equal(true);
    await bench.clock.advance(200);
    expect(await bench.holders()).to.deep.equal([[], [], []]);
  });

  it('is undone for as long as it may live, and no longer', async () => {
    const bench = new BackendBench(3, 1, 5000);
    bench.only([0], () => HUNG);
    await errorOf(bench.tryFor('a.1'), QuorumError);
    await bench.clock.advance(4000);
    expect(bench.backend('a').undoing).to.equal(2);
    await bench.clock.advance(3000);
    expect(bench.backend('a').undoing).to.equal(0);
    const { timers } = bench.clock;
    await bench.clock.advance(10_000);
    expect(bench.clock.timers).to.be.at.most(timers);
  });

  it('is undone when the call itself ran late, after it had been undone', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    // The take arrives last of all.
    bench.only([0], () => HUNG);
    const late = bench.nodes[1];
    let calls = 0;
    if (late !== undefined)
      late.fate = () => (calls++ === 0 ? { request: 2000, reply: 1 } : AT_ONCE);
    await errorOf(bench.tryFor('a.1'), QuorumError);
    await bench.clock.advance(500);
    expect(late?.calls.drop).to.be.above(0);
    expect(late?.calls.take).to.equal(0);
    await bench.clock.advance(600);
    expect(late?.calls.take).to.equal(1);
    expect((await bench.holders())[1]).to.deep.equal([]);
  });

  it('is refused when the call ran late and the clock of the node was known', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    await bench.take('a.1');
    await bench.release('a.1');
    const late = bench.nodes[1];
    bench.only([0], () => HUNG);
    if (late !== undefined) late.fate = () => ({ request: 2000, reply: undefined });
    await errorOf(bench.tryFor('a.2'), QuorumError);
    await bench.clock.advance(5000);
    expect(late?.calls.take).to.equal(2);
    expect((await bench.holders())[1]).to.deep.equal([]);
  });

  it('never takes with it what a later try has won', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    // The first try runs on nodes 1 and 2, but the connection is lost before they can say so, and its undoing is slow.
    for (const node of bench.nodes.slice(1)) {
      const { memory } = node;
      let takes = 0;
      node.take = async (call) => {
        const reply = await memory.take(call);
        takes += 1;
        if (takes === 1) throw new Error('Connection lost.');
        return reply;
      };
    }
    let drops = 0;
    for (const node of bench.nodes) {
      node.drop = async (call) => {
        await new Promise<void>((resolve) => bench.clock.schedule(resolve, 500));
        drops += 1;
        return node.memory.drop(call);
      };
    }
    await errorOf(bench.tryFor('a.1', true), QuorumError);
    await bench.take('a.1');
    expect(drops).to.equal(0);
    await bench.clock.advance(3000);
    expect(drops).to.be.above(0);
    expect(await bench.holders()).to.deep.equal(onAll(['a.1']));
  });

  it('is not granted when its replies came after its validity had passed', async () => {
    const bench = new BackendBench(3, 1, 1000);
    for (const node of bench.nodes) node.fate = () => ({ request: 0, reply: 20 });
    const trying = bench.tryFor('a.1', true);
    await bench.clock.advance(5);
    expect(await bench.holders()).to.deep.equal(onAll(['a.1']));
    bench.clock.stall(995);
    expect(await trying).to.deep.equal({ kind: 'queued', arrival: undefined });
    await bench.clock.advance(100);
    expect(await bench.holders()).to.deep.equal([[], [], []]);
  });

  it('is given back where a release had found a node silent', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    await bench.take('a.1');
    bench.only([0, 1], dead);
    expect(await bench.release('a.1')).to.equal(true);
    bench.only([0, 1, 2], dead);
    await bench.clock.advance(3000);
    expect(await bench.holders()).to.deep.equal([[], [], []]);
  });

  it('does not hide how a release ended: false without a majority, an error without an answer', async () => {
    const bench = new BackendBench(3, 1, 30_000);
    await bench.take('a.1');
    bench.only([0], dead);
    await errorOf(bench.release('a.1'), QuorumError);
    bench.only([0, 1, 2], dead);
    await bench.clock.advance(3000);
    await bench.take('b.1');
    bench.nodes[0]?.memory.restart();
    bench.nodes[1]?.memory.restart();
    expect(await bench.release('b.1')).to.equal(false);
  });
});

/** As the try of `id` that nobody heard of would have left it. */
function left(id: string) {
  const requests = [{ id, attempt: 1, permits: 1, token: 0, aim: [] }];
  return { key: KEY, limit: 1, ttl: 30_000, label: '', notAfter: undefined, requests };
}
