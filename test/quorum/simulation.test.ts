import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import type { QuorumSettings } from '../../src/backends/quorum/quorum.js';
import { QuorumBackend } from '../../src/backends/quorum/quorum-backend.js';
import { seededClock } from './quorum-fixture.js';
import { LaneNode } from './lane-node.js';
import { AT_ONCE, dead, type Fate, TroubledNode } from './troubled-node.js';

/** Processes that list the same nodes, at the same time. */
interface Group {
  readonly size: number;
  /** Milliseconds. */
  readonly from: number;
  readonly to: number;
  /** By the numbers of their nodes. */
  readonly lists: readonly (readonly number[])[];
  /** What they call the nodes, where that differs. */
  readonly names?: readonly string[];
}

/** One slot for as long as its handle says that it is held. */
interface Hold {
  readonly group: Group;
  readonly id: string;
  readonly slot: number;
  readonly token: number;
  /** When `acquire` was called. */
  readonly asked: number;
  readonly from: number;
  until: number;
}

/** More of them in `npm run verify -- random`. */
const SEEDS = process.env['REDSEM_SEED'] === undefined ? 2 : 20;
const SPAN = 20_000;
const NAME = 'simulated';

/** One call in ten is slow, runs without a reply, or never runs. */
function badNetwork(random: () => number): Fate {
  const luck = random();
  if (luck < 0.01) return { request: undefined, reply: undefined };
  if (luck < 0.03) return { request: random() * 100, reply: undefined };
  if (luck < 0.1) return { request: random() * 400, reply: random() * 400 };
  return { request: random() * 5, reply: random() * 5 };
}

/** Processes, every other one with lanes, that take permits, hold them, mostly give them back in time, and take the next, over clocks up to a minute apart. */
class Simulation {
  readonly clock;
  readonly holds: Hold[] = [];
  readonly #limit: number;
  readonly #ttl: number;
  readonly #nodes: readonly TroubledNode[];

  constructor(limit: number, ttl: number, seed: number) {
    this.clock = seededClock(seed);
    this.#limit = limit;
    this.#ttl = ttl;
    const random = (): number => this.clock.random();
    this.#nodes = Array.from({ length: 6 }, (_, i) => {
      const node = new TroubledNode(this.clock, () => badNetwork(random));
      node.memory.skew = Math.round((random() - 0.5) * 60_000);
      node.memory.name = `n${i}`;
      return node;
    });
  }

  async run(groups: readonly Group[]): Promise<void> {
    const all = groups.flatMap((group) => Array.from({ length: group.size }, () => group));
    const running = Promise.all(all.map((group, i) => this.#contend(group, i % 2 === 0)));
    const end = Math.max(...groups.map(({ to }) => to));
    for (let i = 0; this.clock.monotonic() < end; i += 1) {
      await this.clock.advance(this.#ttl);
      await this.#empty(this.#nodes[i % 3]);
    }
    for (const node of this.#nodes) node.fate = () => AT_ONCE;
    await this.clock.advance(4000);
    await running;
    const lists = this.#nodes.map(({ memory }) => memory.list({ prefix: 'redsem', name: NAME }));
    for (const { tickets } of await Promise.all(lists)) expect(tickets).to.deep.equal([]);
  }

  /** Away for one ttl, and back without data. */
  async #empty(node: TroubledNode | undefined): Promise<void> {
    if (node === undefined) return;
    const { fate } = node;
    node.fate = dead;
    await this.clock.advance(this.#ttl);
    node.memory.restart();
    node.fate = fate;
  }

  async #contend(group: Group, withLanes: boolean): Promise<void> {
    const { clock } = this;
    const places = [...new Set(group.lists.flat())];
    const lists = group.lists.map((list) => list.map((place) => places.indexOf(place)));
    const settings: QuorumSettings = group.names === undefined ? { lists } : group;
    const nodes = places.flatMap((place) => this.#nodes[place] ?? []);
    const reached = withLanes ? nodes.map((node) => new LaneNode(node, clock)) : nodes;
    const backend = new QuorumBackend(reached, clock, settings);
    const semaphore = new Semaphore(backend, NAME, { limit: this.#limit, ttl: this.#ttl, clock });
    semaphore.on('warning', () => undefined);
    await this.#pass(group.from);
    while (clock.monotonic() < group.to) {
      const permits = this.#limit > 1 && clock.random() < 0.2 ? 2 : 1;
      await this.#hold(group, semaphore, permits).catch(() => undefined);
      await this.#pass(clock.random() * 50);
    }
    await semaphore.close();
  }

  async #hold(group: Group, semaphore: Semaphore, permits: number): Promise<void> {
    const { clock } = this;
    const asked = clock.monotonic();
    const handle = await semaphore.acquire({ permits, timeout: 2000 });
    const { id, fencingToken: token } = handle;
    const now = { group, id, token, asked, from: clock.monotonic(), until: Infinity };
    const holds = handle.slots.map((slot): Hold => ({ ...now, slot }));
    this.holds.push(...holds);
    const end = (): void => {
      for (const hold of holds) hold.until = Math.min(hold.until, clock.monotonic());
    };
    handle.on('lost', end);
    await this.#pass(clock.random() * 600);
    end();
    await handle.release();
  }

  #pass(duration: number): Promise<void> {
    return new Promise((resolve) => this.clock.schedule(resolve, duration));
  }
}

/** No two hold one slot at a time; who asked after another had begun to hold has a higher token; none is given twice. */
function check(holds: readonly Hold[]): void {
  for (const slot of new Set(holds.map((hold) => hold.slot))) {
    const ordered = holds.filter((hold) => hold.slot === slot).toSorted((a, b) => a.from - b.from);
    ordered.slice(1).forEach((next, i) => {
      const both = `${ordered[i]?.id} and ${next.id} in slot ${slot}`;
      expect(next.from, both).to.be.at.least(ordered[i]?.until ?? 0);
      expect(next.token, both).to.be.above(ordered[i]?.token ?? 0);
    });
  }
  const tickets = [...new Map(holds.map((hold) => [hold.id, hold])).values()];
  expect(new Set(tickets.map(({ token }) => token)).size).to.equal(tickets.length);
  for (const one of tickets) {
    for (const other of tickets) {
      if (one.asked <= other.from) continue;
      expect(one.token, `${one.id} after ${other.id}`).to.be.above(other.token);
    }
  }
}

async function expectSafe(limit: number, groups: readonly Group[], ttls = [1000]): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const simulation = new Simulation(limit, ttls[seed % ttls.length] ?? 0, seed);
    await simulation.run(groups);
    for (const group of groups) {
      expect(simulation.holds.filter((hold) => hold.group === group).length).to.be.above(5);
    }
    check(simulation.holds);
  }
}

describe('a quorum on a bad network', () => {
  const always = { size: 6, from: 0, to: SPAN };

  for (const [nodes, limit] of [
    [2, 1],
    [3, 1],
    [3, 2],
    [4, 2],
    [5, 3],
  ] as const) {
    it(`of ${nodes} nodes never gives one of ${limit} slots twice, nor tokens out of order`, async () => {
      const lists = [[0, 1, 2, 3, 4].slice(0, nodes)];
      // With the long ttl nothing expires that should have been taken back.
      await expectSafe(limit, [{ ...always, lists }], [1000, 8000]);
    });
  }

  it('of 3 nodes, which each contender calls otherwise, never gives a slot twice', async () => {
    const groups = [0, 1, 2].map((i) => {
      return { ...always, size: 2, lists: [[0, 1, 2]], names: [`a${i}`, `b${i}`, `c${i}`] };
    });
    await expectSafe(2, groups);
  });

  for (const [title, before, after] of [
    ['from three nodes to five', [0, 1, 2], [0, 1, 2, 3, 4]],
    ['from five nodes to three', [0, 1, 2, 3, 4], [0, 1, 2]],
    ['of one node for another', [0, 1, 2], [0, 1, 3]],
    ['of all nodes for others', [0, 1, 2], [3, 4, 5]],
  ] as const) {
    it(`never makes two holders by a change ${title}, by way of both lists`, async () => {
      await expectSafe(1, [
        { size: 3, from: 0, to: 16_000, lists: [before] },
        { size: 3, from: 8000, to: 28_000, lists: [before, after] },
        { size: 3, from: 20_000, to: 36_000, lists: [after] },
      ]);
    });
  }
});
