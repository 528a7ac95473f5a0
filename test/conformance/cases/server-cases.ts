import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';
import type { CaseGroup, Run } from '../case-group.js';
import { needing } from '../case-group.js';
import type { Scope } from '../scope.js';
import { untilLost, untilState } from '../scope.js';

const wordy = (run: Run) => needing('server errors', run);
const timed = (run: Run) => needing('time', run);

/** The server hangs, its sockets stay open, for as long as `body` runs. */
async function hung(scope: Scope, body: () => Promise<void>): Promise<void> {
  scope.server.pause();
  try {
    await body();
  } finally {
    scope.server.resume();
  }
}

/** Changes the server for as long as `body` runs. */
async function changed(
  { server }: Scope,
  change: readonly string[],
  undo: readonly string[],
  body: () => Promise<void>,
): Promise<void> {
  await server.command(...change);
  try {
    await body();
  } finally {
    await server.command(...undo);
  }
}

/** Every way in is refused, also one without a timeout, and says why. */
async function expectRefused(scope: Scope, why: RegExp): Promise<void> {
  const semaphore = scope.semaphore();
  const tries = [semaphore.acquire(), semaphore.acquire(), semaphore.tryAcquire()];
  const errors = await Promise.all(tries.map((tried) => errorOf(tried, BackendError)));
  for (const error of errors) {
    expect(error.code).to.equal('BACKEND');
    expect(error.message).to.match(why);
    expect(error.cause).to.be.instanceOf(Error).and.match(why);
  }
}

/** Lines of the failure table. [M 26, M 29, M 37, RL4 8, RL4 21, RL#287, RS 23, RS 33, RD 19, BN 14, SM, O 2, O 4c] */
export const serverCases: CaseGroup = {
  title: 'a server that refuses or fails',
  needs: ['keys', 'server'],
  cases: {
    'a wrong type under a key is a BackendError at once, of every call': wordy(async (scope) => {
      for (const part of ['tickets', 'meta']) {
        await scope.keys.setString(scope.ownKey(part), 'of a wrong type');
        await expectRefused(scope, /WRONGTYPE/);
        await scope.keys.delete(scope.ownKey(part));
      }
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      await scope.keys.setString(scope.ownKey('tickets'), 'of a wrong type');
      const calls = [() => handle.extend(), () => semaphore.inspect(), () => handle.release()];
      for (const call of calls) {
        expect(await errorOf<Error>(call(), BackendError)).to.match(/WRONGTYPE/);
      }
      await scope.keys.delete(scope.ownKey('tickets'));
      expect(await semaphore.acquire()).to.include({ held: true });
    }),

    'a wrong type under any key is never a hang': wordy(async (scope) => {
      for (const part of ['tickets', 'slots', 'free', 'queue', 'waiters', 'meta']) {
        const name = scope.freshName();
        const semaphore = scope.semaphore({ limit: 3 }, name);
        const kept = await semaphore.acquire();
        await (await semaphore.acquire()).release();
        await scope.keys.setString(scope.ownKey(part, name), 'of a wrong type');
        const tried: unknown = await semaphore.acquire().catch((error: unknown) => error);
        if (tried instanceof Error) expect(tried).to.be.instanceOf(BackendError);
        await kept.extend().catch((error: unknown) => {
          if (kept.held) expect(error).to.be.instanceOf(BackendError);
        });
        await scope.keys.delete(scope.ownKey(part, name));
        expect((await semaphore.acquire()).held, part).to.equal(true);
      }
    }),

    'no permission is a BackendError at once': wordy(async (scope) => {
      const user = ['ACL', 'SETUSER', 'default'];
      for (const [rights, why] of [
        [['-hmget'], /permission|can't run this command/i],
        [['-eval', '-evalsha'], /NOPERM/],
      ] as const) {
        await changed(scope, [...user, ...rights], [...user, '+@all'], () =>
          expectRefused(scope, why),
        );
      }
    }),

    'a full memory: extend and release work, acquire is whole': wordy(async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const [kept, given] = [await semaphore.acquire(), await semaphore.acquire()];
      const memory = ['CONFIG', 'SET', 'maxmemory'];
      await changed(scope, [...memory, '1'], [...memory, '0'], async () => {
        await kept.extend();
        expect(await given.release()).to.equal(true);
        const tried: unknown = await semaphore.tryAcquire().catch((error: unknown) => error);
        if (tried instanceof Error) expect(tried).to.be.instanceOf(BackendError);
        else expect(tried).to.include({ held: true });
        const { held, holders } = await semaphore.inspect();
        expect(held).to.equal(tried instanceof Error ? 1 : 2);
        expect(holders).to.have.lengthOf(held);
      });
      await kept.extend();
    }),

    'a hung server: no call outlives its own limit [P5]': timed(async (scope) => {
      const semaphore = scope.semaphore({ limit: 5, ttl: 150 });
      const holder = await scope.semaphore({ limit: 5, ttl: 150, label: 'holder' }).acquire();
      await hung(scope, async () => {
        const started = scope.now();
        const calls = [
          errorOf(semaphore.acquire(150), AcquireTimeoutError),
          errorOf(
            semaphore.use(() => {}, 150),
            AcquireTimeoutError,
          ),
          errorOf(semaphore.acquire(0), AcquireTimeoutError),
          errorOf(semaphore.tryAcquire(), BackendError),
          holder.release(),
        ];
        const took = await Promise.all(
          calls.map((call: Promise<unknown>) => call.then(() => scope.now() - started)),
        );
        for (const time of took) expect(time).to.be.below(150 + scope.late);
        // The next knows why, after more than one try.
        const error = await errorOf(semaphore.acquire(1000), AcquireTimeoutError);
        expect(error.cause).to.be.instanceOf(Error);
        expect(error.attempts).to.be.greaterThan(1);
      });
      await untilState(semaphore, { held: 0, waiting: 0 });
    }),

    'a hung server: a holder is lost in time, not before [P6]': timed(async (scope) => {
      const semaphore = scope.semaphore({ ttl: 400 });
      const sent = scope.now();
      const handle = await semaphore.acquire();
      await hung(scope, async () => {
        const error = await untilLost(handle);
        expect(scope.now() - sent).to.be.within(390, 400 + scope.late);
        expect(error.reason).to.equal('expired');
        expect(error.cause).to.be.instanceOf(Error);
        expect(handle.held).to.equal(false);
      });
    }),

    'a hung server that wakes in time loses nothing [P6]': timed(async (scope) => {
      const handle = await scope.semaphore({ extendEvery: 20 }).acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      await hung(scope, () => moment(100));
      await handle.extend();
      expect(handle.held).to.equal(true);
      expect(losses).to.equal(0);
    }),

    'a script cache that was flushed is filled again': async (scope) => {
      const semaphore = scope.semaphore();
      const flush = (): Promise<unknown> => scope.server.command('SCRIPT', 'FLUSH');
      await flush();
      const handle = await semaphore.acquire(0);
      await flush();
      await handle.extend();
      await flush();
      expect(await semaphore.inspect()).to.include({ held: 1 });
      await flush();
      expect(await handle.release()).to.equal(true);
    },

    'all data lost: handles are missing, tokens rise [P2]': async (scope) => {
      const losses = [() => scope.server.command('FLUSHALL'), () => scope.server.restart()];
      for (const lose of losses) {
        const semaphore = scope.semaphore({ limit: 2, ttl: 20_000, extendEvery: 30 });
        const handles = [await semaphore.acquire(), await semaphore.acquire()];
        const lost = handles.map(untilLost);
        const waiting = scope.elsewhere({ limit: 2 }).acquire();
        await scope.untilWaiting(1);
        await lose();
        const errors = await scope.within(15_000, Promise.all(lost));
        for (const { reason } of errors) expect(reason).to.equal('missing');
        const tokens = handles.map(({ fencingToken }) => fencingToken);
        const next = await waiting;
        expect(next.fencingToken).to.be.greaterThan(Math.max(...tokens));
        expect(await next.release()).to.equal(true);
        await (await semaphore.acquire()).release();
      }
    },

    'connections that are cut: waiters get in, holders lose nothing [P4, P6]': async (scope) => {
      const holder = await scope.elsewhere({ extendEvery: 40 }).acquire();
      let losses = 0;
      holder.on('lost', () => (losses += 1));
      const waiting = scope.semaphore().acquire();
      await scope.untilWaiting(1);
      for (const type of ['normal', 'pubsub']) {
        await scope.server.command('CLIENT', 'KILL', 'TYPE', type);
      }
      await eventually(() => holder.extend());
      expect(losses).to.equal(0);
      expect(await holder.release()).to.equal(true);
      expect(await waiting).to.include({ held: true });
    },

    'a replica that is promoted in time is waited for [the failure table]': async (scope) => {
      const handle = await scope.elsewhere({ limit: 2, extendEvery: 20 }).acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      await scope.server.command('REPLICAOF', '127.0.0.1', '1');
      const waiting = scope.semaphore({ limit: 2 }).acquire();
      waiting.catch(() => {});
      await moment(100);
      await scope.server.command('REPLICAOF', 'NO', 'ONE');
      expect(await waiting).to.include({ held: true });
      await handle.extend();
      expect(losses).to.equal(0);
    },
  },
};
