import { expect } from 'chai';

import { ManualClock } from '../../src/index.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { badNetwork, check } from './beliefs.js';
import type { Belief } from './simulated-contender.js';
import { SimulatedContender } from './simulated-contender.js';
import { TroubledNode } from './troubled-node.js';

interface Change {
  readonly title: string;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

const CHANGES: readonly Change[] = [
  { title: 'from three nodes to five', before: [0, 1, 2], after: [0, 1, 2, 3, 4] },
  { title: 'from five nodes to three', before: [0, 1, 2, 3, 4], after: [0, 1, 2] },
  { title: 'of one node for another', before: [0, 1, 2], after: [0, 1, 3] },
  { title: 'of all nodes for others', before: [0, 1, 2], after: [3, 4, 5] },
];

/** Six processes while the list changes under them, three at a time, as they are replaced by new ones. */
async function simulate({ before, after }: Change, seed: number): Promise<Map<string, Belief[]>> {
  const clock = new ManualClock(1_700_000_000_000);
  const numbers = new RandomNumbers(seed);
  const random = (): number => numbers.next();
  const nodes = Array.from({ length: 6 }, (_, i) => {
    const node = new TroubledNode(clock, () => badNetwork(random));
    node.memory.name = `n${i}`;
    return node;
  });
  const stages = { before: [before], both: [before, after], after: [after] };
  const beliefs = new Map<string, Belief[]>();
  const running: Promise<void>[] = [];
  const start = (stage: keyof typeof stages): AbortController => {
    const lists = stages[stage];
    const places = [...new Set(lists.flat())];
    const settings = { lists: lists.map((list) => list.map((place) => places.indexOf(place))) };
    const own = places.flatMap((place) => nodes[place] ?? []);
    const end = new AbortController();
    const found = beliefs.get(stage) ?? [];
    beliefs.set(stage, found);
    const world = { clock, nodes: own, limit: 1, random, beliefs: found, end: end.signal };
    for (let i = 0; i < 3; i += 1) {
      const client = `${stage}${running.length}`;
      running.push(new SimulatedContender(world, client, settings).run());
    }
    return end;
  };
  const old = start('before');
  await clock.advance(8000);
  const both = start('both');
  await clock.advance(8000);
  old.abort();
  await clock.advance(4000);
  const fresh = start('after');
  await clock.advance(8000);
  both.abort();
  await clock.advance(8000);
  fresh.abort();
  await clock.advance(10_000);
  await Promise.all(running);
  return beliefs;
}

describe('a change of the list of nodes', () => {
  for (const change of CHANGES) {
    it(`${change.title} by way of both lists never makes two holders`, async () => {
      for (let seed = 1; seed <= 3; seed += 1) {
        const beliefs = await simulate(change, seed);
        for (const [stage, found] of beliefs) expect(found.length, stage).to.be.above(5);
        check([...beliefs.values()].flat());
      }
    });
  }
});
