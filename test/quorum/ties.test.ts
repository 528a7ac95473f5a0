import { expect } from 'chai';

import type { AcquireVerdict } from '../../src/backend.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import { BackendBench, KEY } from './backend-bench.js';
import { TroubledNode } from './troubled-node.js';

describe('contenders who split the nodes', () => {
  for (const nodes of [2, 3, 4, 5]) {
    it(`settle it among themselves within one call, on ${nodes} nodes`, async () => {
      let decided = 0;
      for (let round = 0; round < 40; round += 1) {
        const verdicts = await meetHalfway(nodes);
        const granted = verdicts.filter(({ kind }) => kind === 'granted').length;
        expect(granted).to.be.at.most(1);
        decided += granted;
      }
      expect(decided).to.be.above(30);
    });

    it(`leave nothing behind when they give up, on ${nodes} nodes`, async () => {
      const bench = new BackendBench(nodes, 1);
      bench.nodes.forEach((node, i) => {
        let calls = 0;
        node.fate = () => ({ request: (calls++ + i) % 2 === 0 ? 2 : 1, reply: 1 });
      });
      await Promise.all(['a.1', 'b.1', 'c.1', 'd.1'].map((id) => bench.tryFor(id)));
      const { holders } = await bench.inspect();
      expect(holders.length).to.be.at.most(1);
      for (const { id } of holders) expect(await bench.release(id)).to.equal(true);
      await bench.clock.advance(100);
      expect((await bench.holders()).flat()).to.deep.equal([]);
    });
  }

  it('aim at slots that are free on a majority, so that each gets one of several', async () => {
    let granted = 0;
    for (let round = 0; round < 20; round += 1) {
      const bench = new BackendBench(5, 4);
      for (const node of bench.nodes) {
        node.fate = () => ({ request: 1 + Math.random() * 3, reply: Math.random() * 3 });
      }
      const ids = ['a.1', 'b.1', 'c.1', 'd.1'];
      const verdicts = await Promise.all(ids.map((id) => bench.tryFor(id)));
      granted += verdicts.filter(({ kind }) => kind === 'granted').length;
      const slots = verdicts.flatMap((verdict) =>
        verdict.kind === 'granted' ? verdict.slots : [],
      );
      expect(new Set(slots).size).to.equal(slots.length);
    }
    expect(granted).to.be.above(70);
  });
});

/** Two who try at the same moment, each of whom is the first at every other node, again and again. */
async function meetHalfway(nodes: number): Promise<AcquireVerdict[]> {
  const bench = new BackendBench(nodes, 1);
  const backends = [0, 1].map((contender) => {
    const doors = bench.nodes.map(({ memory }, i) => {
      const request = i % 2 === contender ? 1 : 2;
      return new TroubledNode(bench.clock, () => ({ request, reply: 1 }), memory);
    });
    return new QuorumBackend(doors, bench.clock);
  });
  const replies = backends.map(async (backend, i) => {
    const requests = [{ id: `c${i}.1`, permits: 1, wait: false, arrival: undefined }];
    const call = { key: KEY, limit: 1, client: `c${i}`, ttl: 1000, label: '' };
    return backend.acquire({ ...call, notAfter: undefined, requests });
  });
  return (await bench.during(Promise.all(replies))).flatMap(({ verdicts }) => verdicts);
}
