import { expect } from 'chai';

import { ManualClock } from '../../src/index.js';
import { badNetwork, check, healthyNetwork } from './beliefs.js';
import type { QuorumSettings } from '../../src/quorum/quorum.js';
import { RandomNumbers } from '../support/random-numbers.js';
import type { Belief } from './simulated-contender.js';
import { SimulatedContender } from './simulated-contender.js';
import type { Fate } from './troubled-node.js';
import { TroubledNode } from './troubled-node.js';

type Network = (random: () => number, node: number) => Fate;

/** Six contenders who each have a backend of their own, for half a minute, on such a network. */
async function simulate(
  nodes: number,
  limit: number,
  random: () => number,
  network: Network,
  namesOf: (contender: number) => string[] | undefined = () => undefined,
): Promise<Belief[]> {
  const clock = new ManualClock(1_700_000_000_000);
  const troubled = Array.from({ length: nodes }, (_, i) => {
    const node = new TroubledNode(clock, () => network(random, i));
    node.memory.skew = Math.round((random() - 0.5) * 60_000);
    return node;
  });
  const end = new AbortController();
  const beliefs: Belief[] = [];
  const settingsOf = (contender: number): QuorumSettings => {
    const names = namesOf(contender);
    return names === undefined ? {} : { names };
  };
  const world = { clock, nodes: troubled, limit, random, beliefs, end: end.signal };
  const contenders = Array.from({ length: 6 }, async (_, i) =>
    new SimulatedContender(world, `client${i}`, settingsOf(i)).run(),
  );
  await clock.advance(20_000);
  end.abort();
  await clock.advance(10_000);
  await Promise.all(contenders);
  return beliefs;
}

function source(seed: number): () => number {
  const numbers = new RandomNumbers(seed);
  return () => numbers.next();
}

/** More of them in `npm run verify -- random`. */
const SEEDS = process.env['REDSEM_SEED'] === undefined ? 2 : 20;

describe('a quorum on a bad network', () => {
  for (const [nodes, limit] of [
    [2, 1],
    [3, 1],
    [3, 2],
    [4, 2],
    [5, 3],
  ] as const) {
    it(`of ${nodes} nodes never gives one of ${limit} slots twice, nor tokens out of order`, async () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const random = source(seed * 100 + nodes * 10 + limit);
        const beliefs = await simulate(nodes, limit, random, badNetwork);
        expect(beliefs.length).to.be.above(15);
        check(beliefs);
      }
    });
  }

  it('of 3 nodes, which each contender calls otherwise, never gives a slot twice', async () => {
    for (let seed = 1; seed <= 2 * SEEDS; seed += 1) {
      const names = (i: number): string[] => ['a', 'b', 'c'].map((node) => `${node}${i % 3}`);
      const beliefs = await simulate(3, 2, source(seed), badNetwork, names);
      expect(beliefs.length).to.be.above(15);
      check(beliefs);
    }
  });

  it('of 3 nodes keeps on while any one of them is silent', async () => {
    for (let silent = 0; silent < 3; silent += 1) {
      const random = source(silent + 1);
      const beliefs = await simulate(3, 2, random, (draw, node) =>
        node === silent ? { request: undefined, reply: undefined } : healthyNetwork(draw),
      );
      expect(beliefs.length).to.be.above(50);
      check(beliefs);
    }
  });
});
