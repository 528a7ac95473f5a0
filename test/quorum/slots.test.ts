import { expect } from 'chai';

import { BackendBench, KEY, onAll } from './backend-bench.js';
import { dead, HUNG } from './troubled-node.js';
import { combinations, type Condition } from './mixed-nodes.js';
import { QuorumError } from '../../src/index.js';

describe('slots won by majority', () => {
  it('give each holder the lowest that is free, on all nodes', async () => {
    const bench = new BackendBench(3, 2);
    expect(await bench.take('a.1')).to.deep.include({ slots: [0] });
    expect(await bench.take('b.1')).to.deep.include({ slots: [1] });
    expect(await bench.tryFor('c.1')).to.deep.equal({ kind: 'busy' });
    expect(await bench.tryFor('c.2', true)).to.deep.equal({ kind: 'queued', arrival: undefined });
    expect(await bench.holders()).to.deep.equal(onAll(['a.1', 'b.1']));
    expect(await bench.release('a.1')).to.equal(true);
    expect(await bench.take('c.3')).to.deep.include({ slots: [0] });
  });

  it('admit no third holder where a majority of counts would', async () => {
    // Each of three pairs of nodes has room for one: a majority of counts of limit 2 lets three in.
    const bench = new BackendBench(3, 2);
    const granted: string[] = [];
    for (const [i, pair] of [
      [0, 1],
      [1, 2],
      [0, 2],
    ].entries()) {
      bench.only(pair, () => HUNG);
      const verdict = await bench.tryFor(`c${i}.1`);
      if (verdict.kind === 'granted') granted.push(`c${i}.1`);
    }
    expect(granted).to.deep.equal(['c0.1', 'c1.1']);
  });

  it('are taken several at once: all by majority, or nothing', async () => {
    const bench = new BackendBench(3, 4);
    expect(await bench.take('a.1.3')).to.deep.include({ slots: [0, 1, 2] });
    expect(await bench.tryFor('b.1.2')).to.deep.equal({ kind: 'busy' });
    expect(await bench.holders()).to.deep.equal(onAll(['a.1.3']));
    expect(await bench.take('b.2')).to.deep.include({ slots: [3] });
    expect(await bench.release('a.1.3')).to.equal(true);
    expect(await bench.take('b.3.2')).to.deep.include({ slots: [0, 1] });
  });

  it('are the same again, with the same token, for an id that was granted before', async () => {
    const bench = new BackendBench(3, 2);
    const first = await bench.take('a.1');
    await bench.take('b.1');
    expect(await bench.take('a.1')).to.deep.equal(first);
    expect(await bench.holders()).to.deep.equal(onAll(['a.1', 'b.1']));
  });

  it('are not kept for somebody who released while they were being won', async () => {
    const bench = new BackendBench(3, 1);
    for (const node of bench.nodes) node.fate = () => ({ request: 5, reply: 5 });
    const trying = bench.tryFor('a.1', true);
    await bench.clock.advance(7);
    void bench.release('a.1');
    expect(await trying).to.deep.equal({ kind: 'queued', arrival: undefined });
    await bench.clock.advance(100);
    expect(await bench.holders()).to.deep.equal([[], [], []]);
  });

  it('are won without sending a node that hangs more than a few calls', async () => {
    const bench = new BackendBench(3, 1, 1000);
    let calls = 0;
    const [, , hung] = bench.nodes;
    if (hung !== undefined) {
      hung.fate = () => {
        calls += 1;
        return HUNG;
      };
    }
    for (let round = 1; round <= 100; round += 1) {
      await bench.take(`a.${round}`);
      await bench.release(`a.${round}`);
      await bench.clock.advance(10);
    }
    // For the first tenth of a second all, then one in each tenth.
    expect(calls).to.be.below(45);
  });

  it('that a silent node gave are the same there once it answers', async () => {
    const bench = new BackendBench(3, 3);
    // On node 2 slot 0 is taken, so it gives another.
    await bench.nodes[2]?.memory.take(stray('x.1'));
    await bench.take('a.1');
    await bench.clock.advance(10);
    expect((await bench.holders())[2]).to.deep.equal(['x.1']);
    await bench.nodes[2]?.memory.drop({ key: KEY, tickets: [{ id: 'x.1', attempt: 1 }] });
    expect(await bench.extend('a.1')).to.deep.equal([true]);
    await bench.clock.advance(50);
    const { tickets } = (await bench.nodes[2]?.memory.list(KEY)) ?? { tickets: [] };
    expect(tickets.map(({ id, slots }) => [id, slots])).to.deep.equal([['a.1', [0]]]);
  });

  it('are inspected as a majority has them', async () => {
    const bench = new BackendBench(3, 3);
    const { fencingToken } = await bench.take('a.1.2');
    await bench.nodes[1]?.memory.take(stray('x.1'));
    await bench.clock.advance(100);
    const { holders, ...rest } = await bench.inspect();
    expect(rest).to.deep.equal({ limit: 3, held: 2, waiting: 0, waiters: [] });
    const state = { id: 'a.1.2', slots: [0, 1], fencingToken, expiresIn: 900, heldFor: 100 };
    expect(holders).to.deep.equal([{ ...state, label: 'label of a.1.2' }]);
  });

  it('are inspected as certain only for as long as a majority has them', async () => {
    const bench = new BackendBench(3, 1);
    await bench.take('a.1');
    await bench.clock.advance(400);
    const [node] = bench.nodes;
    const held = (await node?.memory.list(KEY))?.tickets[0];
    const { slots = [], token = 0, attempt = 0 } = held ?? {};
    const keep = { id: 'a.1', mode: 'extend', attempt, slots, token, label: '' } as const;
    await node?.memory.keep({
      key: KEY,
      limit: 1,
      ttl: 1000,
      notAfter: undefined,
      requests: [keep],
    });
    expect((await bench.inspect()).holders[0]).to.include({ expiresIn: 600 });
  });

  for (const nodes of [2, 3, 4, 5]) {
    it(`each of ${4 ** nodes} subsets of ${nodes} nodes in memory gets its verdict`, async () => {
      const subsets = combinations(nodes, ['up', 'dead', 'hung', 'full']);
      const verdicts = subsets.map(async (subset) => verdictOn(subset));
      for (const [i, verdict] of (await Promise.all(verdicts)).entries()) {
        const subset = subsets[i] ?? [];
        const up = subset.filter((condition) => condition === 'up').length;
        const answering = up + subset.filter((condition) => condition === 'full').length;
        const majority = Math.floor(nodes / 2) + 1;
        const partial = answering >= majority ? 'busy' : 'no quorum';
        expect(verdict, subset.join(' ')).to.equal(up >= majority ? 'granted' : partial);
      }
    });
  }
});

async function verdictOn(subset: readonly Condition[]): Promise<string> {
  const bench = new BackendBench(subset.length, 1);
  for (const [i, condition] of subset.entries()) {
    const node = bench.nodes[i];
    if (condition === 'full') await node?.memory.take(stray('x.1'));
    if (node !== undefined && condition === 'hung') node.fate = () => HUNG;
    if (node !== undefined && condition === 'dead') node.fate = dead;
  }
  try {
    return (await bench.tryFor('a.1')).kind;
  } catch (error) {
    if (!(error instanceof QuorumError)) throw error;
    return 'no quorum';
  }
}

/** Taken on one node, by nobody who ever has a majority. */
function stray(id: string) {
  const requests = [{ id, attempt: 1, permits: 1, token: 0, aim: [0] }];
  return { key: KEY, limit: 3, ttl: 30_000, label: '', notAfter: undefined, requests };
}
