import { expect } from 'chai';

import type { Backend, SemaphoreWarning } from '../../src/index.js';
import {
  AcquireTimeoutError,
  ManualClock,
  quorum,
  QuorumError,
  Semaphore,
} from '../../src/index.js';
import type { SingleTarget } from '../../src/targets.js';
import { errorOf } from '../support/rejection.js';
import { RandomNumbers } from '../support/random-numbers.js';
import { badNetwork, check } from './beliefs.js';
import { describeWithMasters } from './servers.js';
import type { Belief } from './simulated-contender.js';
import { SimulatedContender } from './simulated-contender.js';
import { TroubledNode } from './troubled-node.js';
import { eventually } from '../support/eventually.js';
import { moment } from '../support/moment.js';

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

/** Acquires and releases until it is told to stop, and notes whoever is not alone. */
class Worker {
  static holders = 0;
  static most = 0;
  rounds = 0;
  readonly #semaphore: Semaphore;
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(backend: Backend, name: string) {
    this.#semaphore = new Semaphore(backend, name, { limit: 1, ttl: 1000 });
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
    await this.#semaphore.close();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const handle = await this.#semaphore.acquire(20_000);
      Worker.holders += 1;
      Worker.most = Math.max(Worker.most, Worker.holders);
      await moment();
      Worker.holders -= 1;
      await handle.release();
      this.rounds += 1;
    }
  }
}

async function worked(workers: readonly Worker[], rounds = 5): Promise<void> {
  const until = workers.map(({ rounds: before }) => before + rounds);
  await eventually(() => workers.every((worker, i) => worker.rounds >= (until[i] ?? 0)));
}

for (const kind of ['redis', 'ioredis'] as const) {
  describeWithMasters(`a list of nodes that changes, over ${kind}`, 5, (masters) => {
    async function listOf(places: readonly number[]): Promise<SingleTarget[]> {
      const all = await masters().connect(kind);
      return places.flatMap((place) => all[place] ?? []);
    }

    for (const [other, title] of [
      [[0, 1, 3], 'another node'],
      [[0, 1, 2, 3, 4], 'more nodes'],
    ] as const) {
      it(`gives nothing to who lists ${title}, and says so`, async () => {
        const name = `other-${kind}-${other.length}`;
        const old = new Semaphore(await listOf([0, 1, 2]), name, { limit: 1 });
        const handle = await old.acquire(5000);
        // As if it had been restarted without data.
        const emptied = masters().servers[other.length > 3 ? 2 : 1];
        for (const part of ['qslots', 'qmeta']) {
          await emptied?.command('DEL', `redsem:{${name}}:${part}`);
        }
        const fresh = new Semaphore(await listOf(other), name, { limit: 1 });
        const warned = new Promise<SemaphoreWarning>((resolve) => {
          fresh.once('warning', resolve);
        });
        const error = await errorOf(fresh.acquire(500), AcquireTimeoutError);
        if (!(error.cause instanceof QuorumError)) throw error;
        const ports = masters().servers.map(({ port }) => `127.0.0.1:${port}`);
        for (const place of other) expect(error.cause.message).to.include(ports[place]);
        expect(error.cause.message).to.include(ports[2]);
        expect(await warned).to.include({ code: 'NODE_SET', message: error.cause.message });
        await handle.extend();
        expect(handle.held).to.equal(true);
        await handle.release();
        await old.close();
        await fresh.close();
      });
    }

    for (const [after, title] of [
      [[0, 1, 2, 3, 4], 'three nodes become five'],
      [[0, 1, 3], 'one node is replaced'],
    ] as const) {
      it(`has one holder at a time while ${title}`, async () => {
        const name = `change-${kind}-${after.length}`;
        const named = async (places: readonly number[], lists: readonly (readonly number[])[]) =>
          quorum(
            Object.fromEntries(
              (await listOf(places)).map((client, i) => [`n${places[i]}`, client]),
            ),
            { lists: lists.map((list) => list.map((place) => `n${place}`)) },
          );
        const before = [0, 1, 2];
        const all = [...new Set([...before, ...after])];
        const old = new Worker(await named(before, [before]), name);
        await worked([old]);
        const both = new Worker(await named(all, [before, after]), name);
        await worked([old, both]);
        await old.stop();
        await worked([both]);
        // Refused until nothing is left of those that knew the old list only.
        const fresh = new Worker(await named(after, [after]), name);
        await worked([both, fresh]);
        await both.stop();
        await worked([fresh]);
        await fresh.stop();
        expect(Worker.most).to.equal(1);
      });
    }
  });
}
