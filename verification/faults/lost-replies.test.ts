import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { AcquireTimeoutError, BackendError, type Handle } from '../../src/index.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { LATE_MS, timed, timedRejection } from '../support/timed.js';

describeWithServer('replies and requests that get lost', (server) => {
  let proxy: FaultProxy;

  beforeEach('start the proxy', async () => {
    proxy = await startProxy(server().port);
  });

  afterEach('stop the proxy', () => proxy.stop());

  /** What was lost stays lost: a connection with a gap in it is no connection. */
  function reconnect(): void {
    proxy.swallowReplies(false);
    proxy.swallowRequests(false);
    proxy.cut();
  }

  for (const warm of [true, false]) {
    const state = warm ? 'known' : 'fresh';

    itThroughBothClients(`leave one ticket when acquire goes on (${state})`, async (bench) => {
      const { semaphore, stored } = await prepare(bench, warm);
      proxy.swallowReplies(true);
      const acquiring = semaphore.acquire(10_000);
      await eventually(async () => expect(await stored.tickets()).to.have.length(1));
      const [ticket] = await stored.tickets();
      reconnect();
      const handle = await acquiring;
      expect(handle.id).to.equal(ticket?.id);
      await stored.expectHeldBy([handle]);
      expect(await handle.release()).to.equal(true);
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`leave no ticket when acquire rejected (${state})`, async (bench) => {
      const { semaphore, stored } = await prepare(bench, warm);
      proxy.swallowReplies(true);
      const { took, error } = await timedRejection(() => semaphore.acquire(150));
      expect(error).to.be.instanceOf(AcquireTimeoutError);
      expect(took).to.be.within(149, 200 + LATE_MS);
      reconnect();
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`leave nothing when requests were lost (${state})`, async (bench) => {
      const { semaphore, stored } = await prepare(bench, warm);
      proxy.swallowRequests(true);
      const { error } = await timedRejection(() => semaphore.acquire(100));
      expect(error).to.be.instanceOf(AcquireTimeoutError);
      reconnect();
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });
  }

  itThroughBothClients('leave at most what a single try resolved with', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true);
    proxy.swallowReplies(true);
    const trying = semaphore.tryAcquire().catch((error: unknown) => error);
    await eventually(async () => expect(await stored.tickets()).to.have.length(1));
    reconnect();
    // node-redis rejects what was in flight, ioredis sends it again.
    const outcome = await trying;
    if (outcome instanceof BackendError) await stored.expectEmpty();
    else await stored.expectHeldBy([outcome as Handle]);
    if (!(outcome instanceof BackendError)) await (outcome as Handle).release();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('leave no request in the queue', async (bench) => {
    const { semaphore, stored, other } = await prepare(bench, true);
    const holder = await other.acquire({ permits: 2 });
    proxy.swallowReplies(true);
    const waiting = reasonOf(semaphore.acquire(1000));
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    expect(await waiting).to.be.instanceOf(AcquireTimeoutError);
    reconnect();
    await eventually(async () => expect(await stored.queue()).to.have.length(0));
    expect(await holder.release()).to.equal(true);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('keep release bounded, and the permit is free', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true);
    for (const lose of ['swallowReplies', 'swallowRequests'] as const) {
      const handle = await semaphore.acquire(5000);
      proxy[lose](true);
      const { value, took } = await timed(async () => {
        const releasing = handle.release();
        await sleep(50);
        reconnect();
        return releasing;
      });
      expect(took).to.be.below(5050 + LATE_MS);
      expect(value).to.be.a('boolean');
      await stored.expectEmpty();
    }
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('cost no handle whose extension is repeated', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true, { ttl: 6000, extendEvery: 60 });
    const handle = await semaphore.acquire();
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    for (const lose of ['swallowReplies', 'swallowRequests'] as const) {
      proxy[lose](true);
      await sleep(150);
      reconnect();
      const before = (await stored.tickets())[0]?.expiresAt ?? Infinity;
      await eventually(async () => {
        expect((await stored.tickets())[0]?.expiresAt).to.be.above(before);
      });
    }
    expect(handle.held).to.equal(true);
    await handle.extend();
    expect(await handle.release()).to.equal(true);
    expect(losses).to.equal(0);
  });

  itThroughBothClients('cost a lease when nothing comes through', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true, { ttl: 400 });
    const handle = await semaphore.acquire();
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    proxy.hang(true);
    const { took, error } = await timedRejection(() => semaphore.acquire(100));
    expect(error).to.be.instanceOf(AcquireTimeoutError);
    expect(took).to.be.at.most(150 + LATE_MS);
    await eventually(() => expect(losses).to.equal(1));
    expect(handle.held).to.equal(false);
    // All that was held back now arrives late.
    proxy.hang(false);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
    expect(losses).to.equal(1);
  });

  itThroughBothClients('cost many local waiters only time', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true, { ttl: 10_000 });
    const slots = new Set<number>();
    const work = async (handle: Handle): Promise<void> => {
      expect(slots.has(handle.slot)).to.equal(false);
      slots.add(handle.slot);
      await sleep(8);
      expect(handle.held).to.equal(true);
      slots.delete(handle.slot);
    };
    const all = Promise.all(Array.from({ length: 60 }, () => semaphore.use(work, 20_000)));
    all.catch(() => undefined);
    for (let round = 0; round < 3; round += 1) {
      await sleep(30);
      proxy.swallowReplies(round === 1);
      await sleep(10);
      reconnect();
      await stored.expectWithin(2);
    }
    await all;
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('cost no permit when the client is behind a dead network', async (bench) => {
    const { semaphore, stored } = await prepare(bench, true, { ttl: 10_000 });
    const handle = await semaphore.acquire();
    proxy.refuse(true);
    proxy.cut();
    const releasing = handle.release();
    await sleep(100);
    proxy.refuse(false);
    expect(await releasing).to.equal(true);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  /** The same semaphore of limit 2 through the proxy, and `other` without. */
  async function prepare(
    bench: ClientBench,
    warm: boolean,
    options: { ttl?: number; extendEvery?: number } = {},
  ) {
    const name = newName();
    const { target } = await bench.connect(proxy.port);
    const semaphore = bench.semaphore(target, name, { limit: 2, ...options });
    const direct = await bench.connect(server().port);
    const other = bench.semaphore(direct.target, name, { limit: 2 });
    if (warm) await (await semaphore.acquire()).release();
    return { semaphore, other, stored: new StoredSemaphore(server(), name) };
  }
});
