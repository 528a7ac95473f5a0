import { expect } from 'chai';

import { ManualClock } from '../../src/index.js';
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
): Promise<Belief[]> {
  const clock = new ManualClock(1_700_000_000_000);
  const troubled = Array.from({ length: nodes }, (_, i) => {
    const node = new TroubledNode(clock, () => network(random, i));
    node.memory.skew = Math.round((random() - 0.5) * 60_000);
    return node;
  });
  const end = new AbortController();
  const beliefs: Belief[] = [];
  const world = { clock, nodes: troubled, limit, random, beliefs, end: end.signal };
  const contenders = Array.from({ length: 6 }, async (_, i) =>
    new SimulatedContender(world, `client${i}`).run(),
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

/** No two hold one slot at a time; who asked after another had begun to hold has a higher token; none is given twice. */
function check(beliefs: readonly Belief[]): void {
  for (const slot of new Set(beliefs.map((belief) => belief.slot))) {
    const ordered = beliefs
      .filter((belief) => belief.slot === slot)
      .toSorted((a, b) => a.from - b.from);
    ordered.forEach((belief, i) => {
      const next = ordered[i + 1];
      if (next === undefined) return;
      const both = `${belief.id} and ${next.id} in slot ${slot}`;
      expect(next.from, both).to.be.at.least(belief.until);
      expect(next.token, both).to.be.above(belief.token);
    });
  }
  const byId = new Map(beliefs.map((belief) => [belief.id, belief]));
  const tickets = [...byId.values()];
  expect(new Set(tickets.map(({ token }) => token)).size).to.equal(tickets.length);
  for (const one of tickets) {
    for (const other of tickets) {
      if (one.asked <= other.from) continue;
      expect(one.token, `${one.id} after ${other.id}`).to.be.above(other.token);
    }
  }
}

function healthy(random: () => number): Fate {
  return { request: random() * 5, reply: random() * 5 };
}

/** One call in ten is slow, runs without a reply, or never runs. */
function bad(random: () => number): Fate {
  const luck = random();
  if (luck < 0.01) return { request: undefined, reply: undefined };
  if (luck < 0.03) return { request: random() * 100, reply: undefined };
  if (luck < 0.1) return { request: random() * 400, reply: random() * 400 };
  return healthy(random);
}

describe('a quorum on a bad network', () => {
  for (const [nodes, limit] of [
    [2, 1],
    [3, 1],
    [3, 2],
    [4, 2],
    [5, 3],
  ] as const) {
    it(`of ${nodes} nodes never gives one of ${limit} slots twice, nor tokens out of order`, async () => {
      for (let seed = 1; seed <= 5; seed += 1) {
        const random = source(seed * 100 + nodes * 10 + limit);
        const beliefs = await simulate(nodes, limit, random, bad);
        expect(beliefs.length).to.be.above(15);
        check(beliefs);
      }
    });
  }

  it('of 3 nodes keeps on while any one of them is silent', async () => {
    for (let silent = 0; silent < 3; silent += 1) {
      const random = source(silent + 1);
      const beliefs = await simulate(3, 2, random, (draw, node) =>
        node === silent ? { request: undefined, reply: undefined } : healthy(draw),
      );
      expect(beliefs.length).to.be.above(50);
      check(beliefs);
    }
  });
});
