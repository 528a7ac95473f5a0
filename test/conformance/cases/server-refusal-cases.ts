import { expect } from 'chai';

import { BackendError } from '../../../src/index.js';
import type { CaseGroup, Run } from '../case-group.js';
import { needing } from '../case-group.js';
import { errorOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const onServer = (run: Run) => needing(['keys', 'server', 'server errors'], run);

/** Changes the server for as long as `body` runs. */
async function changed(
  scope: Scope,
  change: readonly string[],
  undo: readonly string[],
  body: () => Promise<void>,
): Promise<void> {
  await scope.server.command(...change);
  try {
    await body();
  } finally {
    await scope.server.command(...undo);
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
    expect(error.cause).to.be.instanceOf(Error);
    expect((error.cause as Error).message).to.match(why);
  }
}

/** Lines of the failure table: what no further try can mend. */
export const serverRefusalCases: CaseGroup = {
  title: 'a server that refuses',
  cases: {
    'a wrong type under a key is a BackendError at once [RL4 8]': onServer(async (scope) => {
      for (const part of ['tickets', 'meta']) {
        await scope.keys.setString(scope.ownKey(part), 'of a wrong type');
        try {
          await expectRefused(scope, /WRONGTYPE/);
        } finally {
          await scope.keys.delete(scope.ownKey(part));
        }
      }
      expect(await scope.semaphore().tryAcquire()).to.include({ held: true });
    }),

    'a wrong type under any key is never a hang, and mended once it is gone': onServer(
      async (scope) => {
        for (const part of ['tickets', 'slots', 'free', 'queue', 'waiters', 'meta']) {
          const name = scope.freshName();
          const semaphore = scope.semaphore({ limit: 3 }, name);
          const kept = await semaphore.acquire();
          await (await semaphore.acquire()).release();
          await scope.keys.setString(`redsem:{${name}}:${part}`, 'of a wrong type');
          const tried: unknown = await semaphore.acquire().catch((error: unknown) => error);
          if (tried instanceof Error) expect(tried).to.be.instanceOf(BackendError);
          await kept.extend().catch((error: unknown) => {
            if (kept.held) expect(error).to.be.instanceOf(BackendError);
          });
          await scope.keys.delete(`redsem:{${name}}:${part}`);
          const next = await semaphore.acquire({ permits: 1 });
          expect(next.held, part).to.equal(true);
        }
      },
    ),

    'a wrong type makes extend, release and inspect fail, too': onServer(async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      await scope.keys.setString(scope.ownKey('tickets'), 'of a wrong type');
      const calls = [() => handle.extend(), () => semaphore.inspect(), () => handle.release()];
      for (const call of calls) {
        expect((await errorOf<Error>(call(), BackendError)).message).to.match(/WRONGTYPE/);
      }
      await scope.keys.delete(scope.ownKey('tickets'));
      expect(await semaphore.acquire()).to.include({ held: true });
    }),

    'no permission is a BackendError at once [RL#287]': onServer((scope) =>
      changed(
        scope,
        ['ACL', 'SETUSER', 'default', '-hmget'],
        ['ACL', 'SETUSER', 'default', '+@all'],
        () => expectRefused(scope, /permission|can't run this command/i),
      ),
    ),

    'no permission to run scripts is a BackendError at once [RL#287]': onServer((scope) =>
      changed(
        scope,
        ['ACL', 'SETUSER', 'default', '-eval', '-evalsha'],
        ['ACL', 'SETUSER', 'default', '+@all'],
        () => expectRefused(scope, /NOPERM/),
      ),
    ),

    'a full memory lets extend and release work, and acquire work or fail whole': onServer(
      async (scope) => {
        const semaphore = scope.semaphore({ limit: 3 });
        const [kept, given] = [await semaphore.acquire(), await semaphore.acquire()];
        const full = ['CONFIG', 'SET', 'maxmemory', '1'];
        const free = ['CONFIG', 'SET', 'maxmemory', '0'];
        await changed(scope, full, free, async () => {
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
      },
    ),
  },
};
