import { expect } from 'chai';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { type HandleLostError, RedsemError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { LATE_MS, timed } from '../support/timed.js';
import { throughBothClients } from './fixture.js';

const ttl = 1000;

/** What a call gives, or the code of its error. */
async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => (error instanceof RedsemError ? error.code : error));
}

describeWithServer('a server that hangs', (server) => {
  const test = throughBothClients(server);

  afterEach('let the server go on', () => server().resume());

  test('keeps no call beyond its timeout or min(ttl, 5000), and a lease to its end', async (fixture) => {
    const semaphore = await fixture.semaphore({ limit: 2, ttl, extendEvery: 0 });
    const [kept, given] = [await semaphore.acquire(), await semaphore.acquire()];
    const queued = timed(() => outcomeOf(semaphore.acquire(1500)));
    await fixture.untilQueued(1);
    await Promise.all([kept.extend(), given.extend()]);
    server().pause();
    const lost = once(kept, 'lost') as Promise<[HandleLostError]>;
    const left = kept.expiresIn;
    const abort = new AbortController();
    setTimeout(() => abort.abort('enough'), 20);
    /** What, its outcome, and when it ends. */
    const calls: readonly (readonly [() => Promise<unknown>, unknown, number])[] = [
      [() => semaphore.acquire(500), 'ACQUIRE_TIMEOUT', 500],
      [() => semaphore.acquire({ signal: abort.signal }), 'enough', 20],
      [() => semaphore.acquire(0), 'ACQUIRE_TIMEOUT', ttl],
      [() => semaphore.tryAcquire(), 'BACKEND', ttl],
      [() => semaphore.tryUse(() => 'ran'), 'BACKEND', ttl],
      [() => semaphore.inspect(), 'BACKEND', ttl],
      [() => semaphore.setLimit(2), 'BACKEND', ttl],
      [() => semaphore.adopt(kept.toJSON()), 'BACKEND', ttl],
      [() => semaphore.revoke(kept.id), 'BACKEND', ttl],
      [() => kept.extend(), 'HANDLE_LOST', left],
      [() => lost.then(([{ reason }]) => reason), 'expired', left],
      [() => given.release(), false, left],
    ];
    const ends = await Promise.all(calls.map(([call]) => timed(() => outcomeOf(call()))));
    for (const [index, { value, took }] of ends.entries()) {
      const [call, outcome, end] = calls[index] ?? [];
      expect(value, String(call)).to.equal(outcome);
      expect(took, String(call)).to.be.within((end ?? 0) - 5, (end ?? 0) + LATE_MS);
    }
    const { value, took } = await queued;
    expect(value).to.equal('ACQUIRE_TIMEOUT');
    expect(took).to.be.within(1499, 1500 + LATE_MS);
    server().resume();
    await fixture.stored.expectEmpty();
    await fixture.expectUsable(semaphore);
  });

  test('keeps close no longer than min(ttl, 5000)', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl });
    const handle = await semaphore.acquire();
    const waiting = reasonOf(semaphore.acquire());
    await fixture.untilQueued(1);
    server().pause();
    const { took } = await timed(() => semaphore.close());
    expect(took).to.be.at.most(ttl + LATE_MS);
    expect(await waiting).to.have.property('code', 'CLOSED');
    expect(handle.held).to.equal(false);
    server().resume();
    await fixture.stored.expectEmpty();
  });

  test('takes no permit that was handed over just before', async (fixture) => {
    const first = await (await fixture.semaphore()).acquire();
    const waiting = (await fixture.semaphore()).acquire();
    await fixture.stored.expectListening();
    expect(await first.release()).to.equal(true);
    const handle = await waiting;
    // Before it is claimed, and for less than the claim time of 5 s.
    server().pause();
    await sleep(2500);
    expect(handle.held).to.equal(true);
    server().resume();
    await eventually(() => expect(handle.expiresIn).to.be.above(20_000));
    expect(await handle.release()).to.equal(true);
  });
});
