import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import type { TestServer } from '../../support/redis-server.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup, untilLost, untilState } from '../scope.js';

/** The server hangs, its sockets stay open. */
async function hung(server: TestServer, body: () => Promise<void>): Promise<void> {
  server.pause();
  await body().finally(() => server.resume());
}

async function changed(
  server: TestServer,
  change: string,
  undo: string,
  body: () => Promise<void>,
) {
  await server.command(...change.split(' '));
  try {
    await body();
  } finally {
    await server.command(...undo.split(' '));
  }
}

/** Faults that pass inside the lease of a holder. */
const FAULTS: Readonly<Record<string, (server: TestServer) => Promise<unknown>>> = {
  'a server that hangs for a while': (server) => hung(server, () => moment(100)),
  'a script cache that is flushed': (server) => server.command('SCRIPT', 'FLUSH'),
  'connections that are cut': async (server) => {
    for (const type of ['normal', 'pubsub']) await server.command('CLIENT', 'KILL', 'TYPE', type);
  },
  'a replica that is promoted in time': (server) =>
    changed(server, 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE', () => moment(100)),
};

/** Lines of the failure table. */
export const serverCases = caseGroup('a server that refuses or fails', ['server'], (it) => {
  it('a wrong type under a key is a BackendError of every call, which changes nothing', async (scope) => {
    const { server } = scope.place;
    const semaphore = scope.semaphore({ limit: 3 });
    for (const key of ['tickets', 'info'].map((part) => scope.ownKey(part))) {
      const [handle, given] = [await semaphore.acquire(), await semaphore.acquire()];
      // At no moment is it missing: a renewal just then would find that its ticket is lost.
      await server.command('COPY', key, `${key}:saved`);
      await server.command('SET', key, 'of a wrong type');
      const entries = [semaphore.acquire(), semaphore.acquire(), semaphore.tryAcquire()];
      const calls = [...entries, handle.extend(), semaphore.inspect(), given.release()];
      for (const refused of calls.map((call: Promise<unknown>) => errorOf(call, BackendError))) {
        const error = await refused;
        expect(error)
          .to.include({ code: 'BACKEND' })
          .and.match(/WRONGTYPE/);
        expect(error.cause).to.match(/^\w*Error: .*WRONGTYPE/);
      }
      await server.command('RENAME', `${key}:saved`, key);
      // The refused releases happen once the key is right again.
      await untilState(semaphore, { held: 1, waiting: 0 });
      expect(await handle.release()).to.equal(true);
    }
    const all = await semaphore.acquire({ permits: 3 });
    await server.command('SET', scope.ownKey('queue'), 'of a wrong type');
    expect(await errorOf<Error>(semaphore.acquire(), BackendError)).to.match(/WRONGTYPE/);
    await server.command('DEL', scope.ownKey('queue'));
    expect(await all.release()).to.equal(true);
  });

  it('a full memory: extend, release and revoke work, acquire is whole', async (scope) => {
    const [semaphore, elsewhere] = scope.pair({ limit: 3 });
    const [kept, given] = [await semaphore.acquire(), await semaphore.acquire()];
    const revoked = await semaphore.acquire();
    const waiting = elsewhere.acquire();
    await scope.untilWaiting(1);
    await changed(
      scope.place.server,
      'CONFIG SET maxmemory 1',
      'CONFIG SET maxmemory 0',
      async () => {
        await kept.extend();
        // Its slot is between two others: it must be written down as free, and handed on.
        expect(await given.release()).to.equal(true);
        expect(await waiting).to.include({ slot: given.slot });
        expect(await semaphore.revoke(revoked.id)).to.equal(true);
        const tried: unknown = await semaphore.tryAcquire().catch((error: unknown) => error);
        if (tried instanceof Error) expect(tried).to.be.instanceOf(BackendError);
        else expect(tried).to.include({ held: true });
        const { held, holders } = await semaphore.inspect();
        expect(held).to.equal(tried instanceof Error ? 2 : 3);
        expect(holders).to.have.lengthOf(held);
      },
    );
    await kept.extend();
  });

  it('all data lost: handles are missing, tokens rise [P2]', async (scope) => {
    const { server } = scope.place;
    for (const lose of [() => server.command('FLUSHALL'), () => server.restart()]) {
      const semaphore = scope.semaphore({ limit: 2, ttl: 20_000, extendEvery: 30 });
      const handles = [await semaphore.acquire(), await semaphore.acquire()];
      const lost = handles.map(untilLost);
      const waiting = scope.elsewhere({ limit: 2 }).acquire();
      await scope.untilWaiting(1);
      await lose();
      for (const { reason } of await Promise.all(lost)) expect(reason).to.equal('missing');
      const tokens = handles.map(({ fencingToken }) => fencingToken);
      const next = await waiting;
      expect(next.fencingToken).to.be.greaterThan(Math.max(...tokens));
      expect(await next.release()).to.equal(true);
      await (await semaphore.acquire()).release();
    }
  });

  for (const [fault, happen] of Object.entries(FAULTS)) {
    it(`${fault}: waiters get in, holders lose nothing [P4, P6]`, async (scope) => {
      const holder = await scope.elsewhere({ extendEvery: 30 }).acquire();
      const waiting = scope.semaphore().acquire();
      await scope.untilWaiting(1);
      await happen(scope.place.server);
      await eventually(() => holder.extend());
      expect(await scope.elsewhere().inspect()).to.include({ held: 1 });
      expect(holder.signal.aborted).to.equal(false);
      expect(await holder.release()).to.equal(true);
      expect(await waiting).to.include({ held: true });
    });
  }
});

export const hungServerCases = caseGroup('a server that hangs', ['server', 'time'], (it) => {
  it('calls end in time, and so does a holder [P5, P6]', async (scope) => {
    const { time } = scope.place;
    const semaphore = scope.semaphore({ limit: 5, ttl: 400 });
    const sent = time.now();
    const [kept, given] = [await semaphore.acquire(), await semaphore.acquire()];
    await hung(scope.place.server, async () => {
      const started = time.now();
      const lost = untilLost(kept).then((error) => ({ error, after: time.now() - sent }));
      const refused: Promise<unknown>[] = [
        semaphore.tryAcquire(),
        semaphore.tryUse(() => 'ran'),
        semaphore.inspect(),
        semaphore.setLimit(5),
        semaphore.adopt(kept.toJSON()),
        semaphore.revoke(kept.id),
      ];
      const calls: Promise<unknown>[] = [
        errorOf(semaphore.acquire(150), AcquireTimeoutError),
        errorOf(semaphore.acquire(0), AcquireTimeoutError),
        given.release(),
        ...refused.map((call) => errorOf(call, BackendError)),
      ];
      const took = calls.map((call) => call.then(() => time.now() - started));
      for (const each of took) expect(await each).to.be.below(400 + time.late);
      expect(await took[0]).to.be.below(150 + time.late);
      const { error, after } = await lost;
      expect(after).to.be.within(390, 400 + time.late);
      expect(error).to.include({ reason: 'expired' });
      expect(error.cause).to.be.instanceOf(Error);
      expect(kept.held).to.equal(false);
      const { cause, attempts } = await errorOf(semaphore.acquire(1000), AcquireTimeoutError);
      expect(cause).to.be.instanceOf(Error);
      expect(attempts).to.be.greaterThan(1);
    });
    await untilState(semaphore, { held: 0, waiting: 0 });
  });
});
