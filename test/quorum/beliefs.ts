import { expect } from 'chai';

import type { Belief } from './simulated-contender.js';
import type { Fate } from './troubled-node.js';

/** No two hold one slot at a time; who asked after another had begun to hold has a higher token; none is given twice. */
export function check(beliefs: readonly Belief[]): void {
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

export function healthyNetwork(random: () => number): Fate {
  return { request: random() * 5, reply: random() * 5 };
}

/** One call in ten is slow, runs without a reply, or never runs. */
export function badNetwork(random: () => number): Fate {
  const luck = random();
  if (luck < 0.01) return { request: undefined, reply: undefined };
  if (luck < 0.03) return { request: random() * 100, reply: undefined };
  if (luck < 0.1) return { request: random() * 400, reply: random() * 400 };
  return healthyNetwork(random);
}
