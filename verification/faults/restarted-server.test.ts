import { expect } from 'chai';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { AcquireTimeoutError, type HandleLostError } from '../../src/index.js';
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

describeWithServer('a server that loses its data', (server) => {
  let isUp = true;

  async function kill(): Promise<void> {
    isUp = false;
    await server().kill();
  }

  async function restart(): Promise<void> {
    await server().restart();
    isUp = true;
  }

  afterEach('bring the server back', () => (isUp ? undefined : restart()));

  const losses: Record<string, () => Promise<unknown>> = {
    'a restart without data': restart,
    FLUSHALL: () => server().command('FLUSHALL'),
  };

  for (const [title, lose] of Object.entries(losses)) {
    itThroughBothClients(`loses handles and keeps waiters: ${title}`, async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const options = { limit: 2, ttl: 10_000, extendEvery: 50 };
      const { target } = await bench.connect(server().port);
      const semaphore = bench.semaphore(target, name, options);
      const others = bench.semaphore((await bench.connect(server().port)).target, name, options);
      const held = [await semaphore.acquire(), await others.acquire()];
      const reasons = held.map(async (handle) => {
        const [error] = (await once(handle, 'lost')) as [HandleLostError];
        return error.reason;
      });
      const waiting = [semaphore.acquire(10_000), others.acquire(10_000)];
      await eventually(async () => expect(await stored.queue()).to.have.length(2));
      await lose();
      expect(await Promise.all(reasons)).to.deep.equal(['missing', 'missing']);
      const granted = await Promise.all(waiting);
      await stored.expectHeldBy(granted);
      await stored.expectWithin(2);
      const before = Math.max(...held.map(({ fencingToken }) => fencingToken));
      for (const handle of granted) expect(handle.fencingToken).to.be.above(before);
      for (const handle of held) expect(await handle.release()).to.equal(false);
      for (const handle of granted) expect(await handle.release()).to.equal(true);
      await stored.expectEmpty();
      await expectUsable(semaphore, stored, before);
    });
  }

  itThroughBothClients('loses a handle on time while the server is away', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 2000 });
    const handle = await semaphore.acquire();
    const lost = once(handle, 'lost');
    await kill();
    const waiting = reasonOf(semaphore.acquire(300));
    const single = reasonOf(semaphore.acquire(0));
    expect(await waiting).to.be.instanceOf(AcquireTimeoutError);
    expect(await single).to.be.instanceOf(AcquireTimeoutError);
    const [error] = (await lost) as [HandleLostError];
    expect(error.reason).to.equal('expired');
    expect(error.cause).to.be.instanceOf(Error);
    expect(await handle.release()).to.equal(false);
    await restart();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored, handle.fencingToken);
  });

  itThroughBothClients('is told from a lack of permits by the cause', async (bench) => {
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, newName(), { limit: 1, ttl: 200 });
    await kill();
    for (const timeout of [0, 100, 400]) {
      const error = await reasonOf(semaphore.acquire(timeout));
      expect(error).to.be.instanceOf(AcquireTimeoutError);
      expect(error, `acquire(${timeout})`).to.have.property('cause').that.is.instanceOf(Error);
    }
  });

  itThroughBothClients('is waited for inside the timeout', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    await kill();
    const acquiring = semaphore.acquire(10_000);
    await sleep(100);
    await restart();
    const handle = await acquiring;
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('lets release succeed once it is back', async (bench) => {
    const { handle, stored, semaphore } = await holdOne(bench);
    await kill();
    const releasing = handle.release();
    await sleep(50);
    await restart();
    // The data is gone, so the ticket had been lost.
    expect(await releasing).to.equal(false);
    await expectUsable(semaphore, stored, handle.fencingToken);
  });

  itThroughBothClients('never writes an old token again', async (bench) => {
    const { handle, stored, semaphore } = await holdOne(bench);
    let last = handle.fencingToken;
    for (const lose of Object.values(losses)) {
      await lose();
      const next = await semaphore.acquire(10_000);
      expect(next.fencingToken).to.be.above(last);
      last = next.fencingToken;
      await next.release();
    }
    await stored.expectEmpty();
  });

  async function holdOne(bench: ClientBench) {
    const name = newName();
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    const stored = new StoredSemaphore(server(), name);
    return { semaphore, stored, handle: await semaphore.acquire() };
  }
});
