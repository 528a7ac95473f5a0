import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithCluster } from '../../test/support/require-topology.js';
import { clusterClient, throughBothClients } from './topology-bench.js';
import { eventually } from '../../test/support/eventually.js';

/** Some calls that a client loses in the turmoil end with their own limit only, which is 5 s. */

describeWithCluster('a slot of a cluster that is moved', (cluster) => {
  const connect = clusterClient(cluster);

  async function placeOf(name: string) {
    const slot = await cluster().slotOf(`redsem:{${name}}:tickets`);
    const from = await cluster().masterOf(slot);
    const to = (await cluster().masters()).find((master) => master !== from);
    if (to === undefined) throw new Error('a cluster of one master');
    return { slot, from, to };
  }

  it('loses neither holder nor waiter, and keeps their order', () =>
    throughBothClients(connect, async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(cluster(), name);
      const options = { limit: 1, ttl: 20_000, extendEvery: 50 };
      const [here, there] = [await bench.client(), await bench.client()];
      const handle = await bench.semaphore(here, name, options).acquire(5000);
      const watch = bench.watch(handle);
      const served: number[] = [];
      const waits: Promise<void>[] = [];
      for (const [i, target] of [there, here, there].entries()) {
        const semaphore = bench.semaphore(target, name, { ...options, label: `waiter ${i}` });
        waits.push(semaphore.use(() => void served.push(i), 20_000));
        await eventually(async () => expect(await stored.queue()).to.have.length(i + 1));
      }

      const { slot, from, to } = await placeOf(name);
      await cluster().beginMove(slot, to);
      const [first = '', ...rest] = await cluster().keysIn(from, slot);
      await cluster().moveKeys(from, to, [first]);
      const extending = handle.extend();
      await refusals(from, 'TRYAGAIN');
      await cluster().moveKeys(from, to, rest);
      await sleep(100);
      await cluster().endMove(slot, from, to);
      await extending;
      watch.expectKept();
      expect(await cluster().masterOf(slot)).to.equal(to);
      await stored.expectHeldBy([handle]);

      expect(await handle.release()).to.equal(true);
      await Promise.all(waits);
      expect(served).to.deep.equal([0, 1, 2]);
      await stored.expectEmpty();
    }));

  it('answers ASK and MOVED, which costs no call its outcome', () =>
    throughBothClients(connect, async (bench) => {
      const name = newName();
      const target = await bench.client();
      const semaphore = bench.semaphore(target, name, { limit: 2, extendEvery: 0 });
      const handle = await semaphore.acquire(5000);
      const { slot, from, to } = await placeOf(name);
      await cluster().beginMove(slot, to);
      await cluster().moveKeys(from, to, await cluster().keysIn(from, slot));
      const acquiring = semaphore.acquire(10_000);
      await refusals(from, 'ASK');
      await cluster().endMove(slot, from, to);
      const second = await acquiring;
      expect(second.slot).to.equal(1 - handle.slot);
      expect(second.fencingToken).to.be.above(handle.fencingToken);
      // Another client still takes the old node for the right one: this one is told MOVED by it.
      expect(await semaphore.tryAcquire()).to.equal(null);
      expect(await handle.release()).to.equal(true);
      expect(await second.release()).to.equal(true);
    }));

  it('never has more holders than the limit while it is moved to and fro under load', () =>
    throughBothClients(connect, async (bench) => {
      const name = newName();
      const targets = [await bench.client(), await bench.client()];
      const [limit, tasks] = [3, 10];
      const inside = new Set<number>();
      let peak = 0;
      let done = 0;
      const moved = new AbortController();
      const work = async (i: number): Promise<void> => {
        const target = targets[i % targets.length];
        if (target === undefined) return;
        const semaphore = bench.semaphore(target, name, { limit, ttl: 20_000, extendEvery: 100 });
        while (!moved.signal.aborted) {
          await semaphore.use(async ({ slot }) => {
            expect(inside.has(slot), `slot ${slot} twice`).to.equal(false);
            inside.add(slot);
            peak = Math.max(peak, inside.size);
            await sleep(5);
            inside.delete(slot);
          }, 20_000);
          done += 1;
        }
      };
      const running = Promise.all(Array.from({ length: tasks }, (_, i) => work(i)));
      running.catch(() => undefined);
      for (let round = 0; round < 4; round += 1) {
        const before = done;
        await eventually(() => expect(done).to.be.above(before + tasks));
        await move(name);
      }
      const before = done;
      await eventually(() => expect(done).to.be.above(before + tasks));
      moved.abort();
      await running;
      expect(peak).to.equal(limit);
      await new StoredSemaphore(cluster(), name).expectEmpty();
    }));

  async function move(name: string): Promise<void> {
    const { slot, from, to } = await placeOf(name);
    await cluster().beginMove(slot, to);
    await sleep(30);
    await cluster().finishMove(slot, from, to);
  }
});

/** Resolves once a node has answered so at least once more. */
async function refusals(node: TestServer, word: string): Promise<void> {
  const count = async (): Promise<number> => {
    const errors = String(await node.command('INFO', 'errorstats'));
    return Number(new RegExp(`errorstat_${word}:count=(\\d+)`).exec(errors)?.[1] ?? 0);
  };
  const before = await count();
  await eventually(async () => expect(await count()).to.be.above(before));
}
