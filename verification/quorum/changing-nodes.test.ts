import { expect } from 'chai';

import type { Backend, SemaphoreWarning } from '../../src/index.js';
import { AcquireTimeoutError, quorum, QuorumError, Semaphore } from '../../src/index.js';
import type { SingleTarget } from '../../src/targets.js';
import { errorOf } from '../../test/support/rejection.js';
import { describeWithMasters } from '../../test/quorum/servers.js';
import { eventually } from '../../test/support/eventually.js';
import { moment } from '../../test/support/moment.js';

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
