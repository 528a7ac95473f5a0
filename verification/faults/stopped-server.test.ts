import { expect } from 'chai';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  AcquireTimeoutError,
  BackendError,
  type Handle,
  HandleLostError,
  ManualClock,
} from '../../src/index.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { itThroughBothClients, newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { LATE_MS, timed, timedRejection } from '../support/timed.js';

describeWithServer('a server that hangs', (server) => {
  afterEach('let the server go on', () => server().resume());

  itThroughBothClients('does not keep acquire beyond its timeout', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 2 });
    server().pause();
    const { took, error } = await timedRejection(() => semaphore.acquire(500));
    expect(error).to.be.instanceOf(AcquireTimeoutError);
    expect(took).to.be.within(499, 500 + LATE_MS);
    server().resume();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('does not keep any of many waiters beyond its timeout', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    const handle = await semaphore.acquire();
    const waits = Array.from({ length: 20 }, (_, i) =>
      timedRejection(() => semaphore.acquire(1000 + i * 10)),
    );
    await eventually(async () => expect(await stored.queue()).to.have.length(20));
    server().pause();
    for (const [i, { took }] of (await Promise.all(waits)).entries()) {
      expect(took).to.be.within(999 + i * 10, 1000 + i * 10 + LATE_MS);
    }
    server().resume();
    expect(await handle.release()).to.equal(true);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('keeps a single try no longer than min(ttl, 5000)', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 300 });
    server().pause();
    const calls = [() => semaphore.tryAcquire(), () => semaphore.acquire(0)];
    const ends = await Promise.all(calls.map(timedRejection));
    for (const { took } of ends) expect(took).to.be.within(299, 300 + LATE_MS);
    expect(ends[0]?.error).to.be.instanceOf(BackendError);
    expect(ends[1]?.error).to.be.instanceOf(AcquireTimeoutError);
    server().resume();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('keeps a single try 5 s at most, however long the ttl', async (bench) => {
    const clock = new ManualClock();
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, newName(), { limit: 1, ttl: 60_000, clock });
    server().pause();
    let settled = 0;
    const calls = [semaphore.tryAcquire(), semaphore.acquire(0)];
    const watched = calls.map((call) => reasonOf(call).finally(() => (settled += 1)));
    await clock.advance(4999);
    expect(settled).to.equal(0);
    await clock.advance(1);
    await Promise.all(watched);
  });

  itThroughBothClients('is reported as loss when the lease is over, not before', async (bench) => {
    const ttl = 3000;
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl });
    const handle = await semaphore.acquire(1000);
    const losses: HandleLostError[] = [];
    handle.on('lost', (error) => losses.push(error));
    const expiresAt = await pauseAfterExtension(server(), stored);
    await once(handle, 'lost');
    const lostAt = Date.now();
    expect(handle.held).to.equal(false);
    expect(handle.expiresIn).to.equal(0);
    expect(() => handle.assertHeld()).to.throw(HandleLostError);
    expect(handle.signal.aborted).to.equal(true);
    // Redis takes the ticket for expired at `expiresAt`; the extension was sent a little before ttl earlier,
    // and the one before it a second earlier.
    const margin = ttl * 0.01 + 2;
    expect(lostAt).to.be.within(expiresAt - margin - 500, expiresAt + LATE_MS);
    server().resume();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored, handle.fencingToken);
    expect(losses.map(({ reason }) => reason)).to.deep.equal(['expired']);
  });

  itThroughBothClients('is no loss when it goes on inside the lease', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 2000, extendEvery: 100 });
    const handle = await semaphore.acquire(1000);
    server().pause();
    await sleep(300);
    server().resume();
    const [ticket] = await stored.tickets();
    await eventually(async () => {
      expect((await stored.tickets())[0]?.expiresAt).to.be.above(ticket?.expiresAt ?? Infinity);
    });
    expect(handle.held).to.equal(true);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('keeps release no longer than the lease', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 400 });
    const handle = await semaphore.acquire(1000);
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    server().pause();
    const left = handle.expiresIn;
    const { value, took } = await timed(() => Promise.all([handle.release(), handle.release()]));
    expect(value).to.deep.equal([false, false]);
    expect(took).to.be.at.most(left + LATE_MS);
    expect(handle.held).to.equal(false);
    server().resume();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
    expect(losses).to.equal(0);
  });

  itThroughBothClients('lets release fail after 5 s of a longer lease', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const clock = new ManualClock();
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 60_000, clock });
    const handle = await semaphore.acquire();
    server().pause();
    let settled = false;
    const outcome = reasonOf(handle.release()).finally(() => (settled = true));
    await clock.advance(4999);
    expect(settled).to.equal(false);
    await clock.advance(1);
    expect(await outcome).to.be.instanceOf(BackendError);
    expect(handle.held).to.equal(false);
    server().resume();
    // Long before its ttl: what was written to the server is still done.
    await stored.expectEmpty();
  });

  itThroughBothClients('lets extend fail with the loss', async (bench) => {
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, newName(), { limit: 1, ttl: 300 });
    const handle: Handle = await semaphore.acquire(1000);
    server().pause();
    const left = handle.expiresIn;
    const { took, error } = await timedRejection(() => handle.extend());
    expect(took).to.be.at.most(left + LATE_MS);
    expect(error).to.be.instanceOf(HandleLostError);
  });

  itThroughBothClients('hides neither the result nor the error of use', async (bench) => {
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, newName(), { limit: 2, ttl: 300 });
    const stop = (): void => server().pause();
    const { value, took } = await timed(() =>
      Promise.allSettled([
        semaphore.use(async () => {
          await sleep(20);
          stop();
          return 'done';
        }, 1000),
        semaphore.use(async () => {
          await sleep(20);
          throw new Error('their own');
        }, 1000),
      ]),
    );
    expect(took).to.be.at.most(20 + 1000 + LATE_MS);
    expect(value[0]).to.deep.equal({ status: 'fulfilled', value: 'done' });
    expect(value[1]).to.have.nested.property('reason.message', 'their own');
  });

  itThroughBothClients('lets an aborted wait end at once', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    server().pause();
    const abort = new AbortController();
    const acquiring = semaphore.acquire({ signal: abort.signal });
    await sleep(20);
    const reason = new Error('no longer wanted');
    const { took, error } = await timedRejection(() => {
      abort.abort(reason);
      return acquiring;
    });
    expect(took).to.be.at.most(LATE_MS);
    expect(error).to.equal(reason);
    server().resume();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('keeps close no longer than min(ttl, 5000)', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 1500 });
    const handle = await semaphore.acquire();
    const waiting = reasonOf(semaphore.acquire());
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    server().pause();
    const { took } = await timed(() => semaphore.close());
    expect(took).to.be.at.most(1500 + LATE_MS);
    expect(await waiting).to.have.property('code', 'CLOSED');
    expect(handle.held).to.equal(false);
    server().resume();
    await stored.expectEmpty();
  });

  itThroughBothClients('keeps inspect no longer than min(ttl, 5000)', async (bench) => {
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, newName(), { limit: 1, ttl: 200 });
    server().pause();
    const { took, error } = await timedRejection(() => semaphore.inspect());
    server().resume();
    expect(took).to.be.at.most(200 + LATE_MS);
    expect(error).to.be.instanceOf(BackendError);
  });

  itThroughBothClients('delays waiters only as long as it hangs', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    const first = await semaphore.acquire();
    const second = semaphore.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    server().pause();
    const releasing = first.release();
    await sleep(200);
    server().resume();
    expect(await releasing).to.equal(true);
    const handle = await second;
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('gets no permit for a try whose client has gone', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const client = await bench.connect(server().port);
    const semaphore = bench.semaphore(client.target, name, { limit: 1, ttl: 60_000 });
    await (await semaphore.acquire()).release();
    server().pause();
    const acquiring = reasonOf(semaphore.acquire(100));
    await sleep(20);
    client.destroy();
    expect(await acquiring).to.be.instanceOf(Error);
    // Longer than its timeout and a call by which the client saw the server's clock.
    await sleep(1000);
    server().resume();
    // What stood in the server's socket buffer has run by the time that a later command is answered.
    await server().command('PING');
    await stored.expectEmpty();
  });
});

/** Stops the server just after an extension, and tells when the ticket expires by the server's clock. */
async function pauseAfterExtension(server: TestServer, stored: StoredSemaphore): Promise<number> {
  const [before] = await stored.tickets();
  const expiresAt = await eventually(async () => {
    const [ticket] = await stored.tickets();
    expect(ticket?.expiresAt).to.be.above(before?.expiresAt ?? Infinity);
    return ticket?.expiresAt ?? 0;
  });
  server.pause();
  return expiresAt;
}
