import { expect } from 'chai';

import { BackendBench, KEY } from './backend-bench.js';
import { QuorumBackend } from '../../src/quorum/quorum-backend.js';
import { HUNG, TroubledNode } from './troubled-node.js';

const PAIRS = [
  [0, 1],
  [1, 2],
  [0, 2],
];

describe('fencing tokens of a quorum', () => {
  it('rise from majority to majority, however far the clocks of the nodes are apart', async () => {
    const bench = new BackendBench(3, 1);
    bench.nodes.forEach(({ memory }, i) => (memory.skew = [30_000, 0, -30_000][i] ?? 0));
    let last = 0;
    for (let round = 0; round < 30; round += 1) {
      bench.only(PAIRS[round % 3] ?? [], () => HUNG);
      // Each time another process, which has never seen these clocks.
      const { fencingToken } = await bench.take(`c${round}.1`);
      expect(fencingToken, `round ${round}`).to.be.above(last);
      last = fencingToken;
      expect(await bench.release(`c${round}.1`)).to.equal(true);
    }
  });

  it('are those of a majority of nodes before the handle is given out', async () => {
    const bench = new BackendBench(3, 2);
    bench.nodes.forEach(({ memory }, i) => (memory.skew = [-7000, 0, 9000][i] ?? 0));
    for (const id of ['a.1', 'b.1']) {
      const { fencingToken } = await bench.take(id);
      const lists = await Promise.all(bench.nodes.map(({ memory }) => memory.list(KEY)));
      const tokens = lists.map(({ tickets }) => tickets.find((t) => t.id === id)?.token);
      expect(tokens.filter((token) => token === fencingToken).length).to.be.at.least(2);
    }
  });

  it('cost no second round once the clocks of the nodes were seen', async () => {
    const bench = new BackendBench(3, 1);
    bench.nodes.forEach(({ memory }, i) => (memory.skew = 1000 * i));
    for (const node of bench.nodes) node.fate = () => ({ request: 2, reply: 2 });
    await bench.take('a.1');
    await bench.release('a.1');
    const before = bench.nodes.map(({ calls }) => ({ ...calls }));
    for (let round = 2; round < 12; round += 1) {
      await bench.clock.advance(50);
      await bench.take(`a.${round}`);
      await bench.release(`a.${round}`);
    }
    await bench.clock.advance(50);
    const keeps = bench.nodes.map(({ calls }, i) => calls.keep - (before[i]?.keep ?? 0));
    expect(keeps).to.deep.equal([0, 0, 0]);
  });

  it('of those who acquire at one time are never the same', async () => {
    const bench = new BackendBench(3, 8);
    for (const node of bench.nodes) {
      node.fate = () => ({ request: Math.random() * 4, reply: Math.random() * 4 });
    }
    const tokens: number[] = [];
    for (let round = 1; round <= 10; round += 1) {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((client) => `${client}.${round}`);
      const verdicts = await Promise.all(ids.map((id) => bench.tryFor(id)));
      verdicts.forEach((verdict) => {
        if (verdict.kind === 'granted') tokens.push(verdict.fencingToken);
      });
      await Promise.all(ids.map((id) => bench.release(id)));
    }
    expect(tokens.length).to.be.above(60);
    expect(new Set(tokens).size).to.equal(tokens.length);
  });

  it('are given together with the slot: a token from before somebody else had it would be too low', async () => {
    const bench = new BackendBench(3, 2);
    const [x, y, z] = bench.nodes.map(({ memory }) => memory);
    if (y !== undefined) y.skew = 5;
    const backend = (...delays: (readonly (number | undefined)[])[]): QuorumBackend => {
      const doors = [x, y, z].map((memory, i) => {
        let calls = 0;
        const fate = () => ({ request: delays[i]?.[calls++] ?? delays[i]?.at(-1), reply: 0 });
        return new TroubledNode(bench.clock, fate, memory);
      });
      return new QuorumBackend(doors, bench.clock);
    };
    // The first agrees with x and y on a token that y gave. Between its two rounds the second takes another slot on
    // x and this one on z, with a lower token on both, and on y it takes this slot when the first has gone.
    const [first, second] = [
      backend([1, 2, 0], [1, 2, 0], [undefined]),
      backend([2, 0], [6, 0], [2, 0]),
    ];
    const call = { key: KEY, limit: 2, ttl: 1000, label: '', notAfter: undefined };
    const take = async (taker: QuorumBackend, client: string) => {
      const requests = [{ id: `${client}.1`, permits: 1, wait: false, arrival: undefined }];
      return (await taker.acquire({ ...call, client, requests })).verdicts[0];
    };
    const [one, two] = [take(first, 'one'), take(second, 'two')];
    const earlier = await bench.during(one);
    await first.release({ key: KEY, limit: 2, client: 'one', ids: ['one.1'] });
    const later = await bench.during(two);
    if (earlier?.kind !== 'granted' || later?.kind !== 'granted') throw new Error('not granted');
    expect([earlier.slots, later.slots]).to.deep.equal([[0], [0]]);
    expect(later.fencingToken).to.be.above(earlier.fencingToken);
  });

  it('rise although one node after the other loses its data', async () => {
    const bench = new BackendBench(3, 1);
    // Node 2 is far ahead, so the tokens are, too: nobody else would get there by the time alone.
    bench.nodes.forEach(({ memory }, i) => (memory.skew = i === 2 ? 60_000 : 0));
    let last = 0;
    for (let round = 0; round < 6; round += 1) {
      bench.nodes[round % 3]?.memory.restart();
      const { fencingToken } = await bench.take(`c${round}.1`);
      expect(fencingToken, `round ${round}`).to.be.above(last);
      last = fencingToken;
      await bench.release(`c${round}.1`);
    }
  });
});
