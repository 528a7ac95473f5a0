import { expect } from 'chai';

import type { Handle, HandleLostError } from '../../../src/index.js';
import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import type { CaseGroup, Run } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const retry = { min: 5, max: 20 };
const onServer = (run: Run) => needing(['keys', 'server'], run);
const timed = (run: Run) => needing(['keys', 'server', 'time'], run);

/** The server hangs, its sockets stay open, for as long as `body` runs. */
async function hung(scope: Scope, body: () => Promise<void>): Promise<void> {
  scope.server.pause();
  try {
    await body();
  } finally {
    scope.server.resume();
  }
}

function lossOf(handle: Handle): Promise<HandleLostError> {
  return new Promise((resolve) => {
    handle.once('lost', resolve);
  });
}

/** Lines of the failure table: what passes, or has to be noticed. */
export const serverFailureCases: CaseGroup = {
  title: 'a server that fails',
  cases: {
    'a hung server: no call outlives its own limit [P5, M 26, M 29]': timed(async (scope) => {
      const semaphore = scope.semaphore({ limit: 5, ttl: 150 });
      const holder = await scope.semaphore({ limit: 5, ttl: 150, label: 'holder' }).acquire();
      await hung(scope, async () => {
        const started = scope.now();
        const took = (promise: Promise<unknown>): Promise<number> =>
          promise.then(() => scope.now() - started);
        const times = await Promise.all([
          took(errorOf(semaphore.acquire(150), AcquireTimeoutError)),
          took(
            errorOf(
              semaphore.use(() => {}, 150),
              AcquireTimeoutError,
            ),
          ),
          took(errorOf(semaphore.acquire(0), AcquireTimeoutError)),
          took(errorOf(semaphore.tryAcquire(), BackendError)),
          took(holder.release()),
        ]);
        for (const time of times) expect(time).to.be.below(150 + scope.late);
      });
      await eventually(async () => {
        expect(await semaphore.inspect()).to.include({ held: 0, waiting: 0 });
      });
    }),

    'a hung server: the cause stands in the timeout error': timed(async (scope) => {
      const semaphore = scope.semaphore({ ttl: 100 });
      await scope.semaphore().inspect();
      await hung(scope, async () => {
        const error = await errorOf(semaphore.acquire(1000), AcquireTimeoutError);
        expect(error.cause).to.be.instanceOf(Error);
        expect(error.attempts).to.be.greaterThan(1);
      });
    }),

    'a hung server: a holder knows by the end of its ttl, and not before [P6]': timed(
      async (scope) => {
        const semaphore = scope.semaphore({ ttl: 400 });
        const sent = scope.now();
        const handle = await semaphore.acquire();
        await hung(scope, async () => {
          const error = await lossOf(handle);
          expect(scope.now() - sent).to.be.within(390, 400 + scope.late);
          expect(error.reason).to.equal('expired');
          expect(error.cause).to.be.instanceOf(Error);
          expect(handle.held).to.equal(false);
        });
      },
    ),

    'a hung server that wakes in time loses nothing [P6]': timed(async (scope) => {
      const handle = await scope.semaphore({ extendEvery: 20 }).acquire();
      let lost = 0;
      handle.on('lost', () => (lost += 1));
      await hung(scope, () => moment(100));
      await handle.extend();
      expect(handle.held).to.equal(true);
      expect(lost).to.equal(0);
    }),

    'a script cache that was flushed is filled again [RL4 21, RS 33, SM, M 37]': onServer(
      async (scope) => {
        const semaphore = scope.semaphore();
        await scope.server.command('SCRIPT', 'FLUSH');
        const handle = await semaphore.acquire(0);
        await scope.server.command('SCRIPT', 'FLUSH');
        await handle.extend();
        await scope.server.command('SCRIPT', 'FLUSH');
        expect(await semaphore.inspect()).to.include({ held: 1 });
        await scope.server.command('SCRIPT', 'FLUSH');
        expect(await handle.release()).to.equal(true);
      },
    ),

    'FLUSHALL: handles are lost as missing, and later tokens are higher [BN 14, P2]': onServer(
      async (scope) => {
        const semaphore = scope.semaphore({ limit: 2, extendEvery: 15, retry });
        const handles = [await semaphore.acquire(), await semaphore.acquire()];
        const lost = handles.map(lossOf);
        await scope.server.command('FLUSHALL');
        for (const { reason } of await Promise.all(lost)) expect(reason).to.equal('missing');
        const tokens = handles.map(({ fencingToken }) => fencingToken);
        const next = await scope.elsewhere({ limit: 2 }).acquire(0);
        expect(next.fencingToken).to.be.greaterThan(Math.max(...tokens));
      },
    ),

    'connections that are cut: waiters get in, holders lose nothing [P4, P6]': onServer(
      async (scope) => {
        const holder = await scope.elsewhere({ extendEvery: 40, retry }).acquire();
        let lost = 0;
        holder.on('lost', () => (lost += 1));
        const waiting = scope.semaphore({ retry }).acquire();
        await scope.untilWaiting(1);
        await scope.server.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await scope.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await eventually(() => holder.extend());
        expect(lost).to.equal(0);
        expect(await holder.release()).to.equal(true);
        expect(await waiting).to.include({ held: true });
      },
    ),

    'a replica that is promoted in time is waited for [the failure table]': onServer(
      async (scope) => {
        const handle = await scope.elsewhere({ limit: 2, extendEvery: 20 }).acquire();
        let lost = 0;
        handle.on('lost', () => (lost += 1));
        await scope.server.command('REPLICAOF', '127.0.0.1', '1');
        const waiting = scope.semaphore({ limit: 2, retry }).acquire();
        waiting.catch(() => {});
        await moment(100);
        await scope.server.command('REPLICAOF', 'NO', 'ONE');
        expect(await waiting).to.include({ held: true });
        await handle.extend();
        expect(lost).to.equal(0);
      },
    ),

    'killed and started empty: as FLUSHALL, and waiters get in [RS 23, RD 19, BN 14]': onServer(
      async (scope) => {
        const semaphore = scope.semaphore({ ttl: 20_000, extendEvery: 30, retry });
        const handle = await semaphore.acquire();
        const lost = lossOf(handle);
        const waiting = scope.elsewhere({ retry }).acquire();
        await scope.untilWaiting(1);
        await scope.server.restart();
        expect((await scope.within(15_000, lost)).reason).to.equal('missing');
        const next = await waiting;
        expect(next.fencingToken).to.be.greaterThan(handle.fencingToken);
        expect(await next.release()).to.equal(true);
        await semaphore.acquire();
      },
    ),
  },
};
