import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Semaphore } from '../../src/index.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  ClientBench,
  clientKinds,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('a poor network', (server) => {
  let proxy: FaultProxy;

  beforeEach('start the proxy', async () => {
    proxy = await startProxy(server().port);
  });

  afterEach('stop the proxy', () => proxy.stop());

  it('of 400 ms for each call makes all slower and nothing wrong (both clients)', async () => {
    const benches = clientKinds.map((kind) => new ClientBench(kind));
    try {
      await Promise.all(benches.map(workSlowly));
    } finally {
      await Promise.all(benches.map((bench) => bench.close()));
    }
  });

  async function workSlowly(bench: ClientBench): Promise<void> {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(proxy.port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 3000 });
    await loadScripts(semaphore);
    proxy.delay(200);
    const first = await semaphore.acquire(5000);
    let losses = 0;
    first.on('lost', () => (losses += 1));
    expect(await semaphore.tryAcquire()).to.equal(null);
    const waiting = semaphore.acquire(10_000);
    // More than one ttl, so that it is the extensions that keep it.
    await sleep(3000);
    expect(first.held).to.equal(true);
    await stored.expectHeldBy([first]);
    expect(await first.release()).to.equal(true);
    const second = await waiting;
    expect(second.held).to.equal(true);
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await stored.expectHeldBy([second]);
    expect(await second.release()).to.equal(true);
    await stored.expectEmpty();
    expect(losses).to.equal(0);
  }

  itThroughBothClients('that splits everything makes nothing wrong', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(proxy.port);
    const options = { limit: 1, ttl: 30_000 };
    const semaphore = bench.semaphore(target, name, options);
    // In pieces of two bytes they would take seconds.
    await loadScripts(semaphore);
    proxy.split(true);
    const first = await semaphore.acquire(5000);
    const waiting = semaphore.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await first.extend();
    expect(await first.release()).to.equal(true);
    const next = await waiting;
    await stored.expectHeldBy([next]);
    expect(await next.release()).to.equal(true);
    await stored.expectEmpty();
  });
});

async function loadScripts(semaphore: Semaphore): Promise<void> {
  const handle = await semaphore.acquire();
  await handle.extend();
  await handle.release();
}
