import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { describeWithServer } from '../../test/support/require-server.js';
import { itThroughBothClients, newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timedRejection } from '../support/timed.js';

describeWithServer('a server that is no master', (server) => {
  // Its master never answers, so that it keeps its data and refuses to write.
  const demote = (): Promise<unknown> => server().command('REPLICAOF', '127.0.0.1', '1');
  const promote = (): Promise<unknown> => server().command('REPLICAOF', 'NO', 'ONE');
  const serveStale = (on: string): Promise<unknown> =>
    server().command('CONFIG', 'SET', 'replica-serve-stale-data', on);

  afterEach('make it a master again', async () => {
    await serveStale('yes');
    await promote();
  });

  const refusals: Record<string, () => Promise<unknown>> = {
    READONLY: demote,
    MASTERDOWN: async () => {
      await serveStale('no');
      await demote();
    },
  };

  for (const [word, refuse] of Object.entries(refusals)) {
    itThroughBothClients(`is named inside the timeout: ${word}`, async (bench) => {
      const { target } = await bench.connect(server().port);
      const semaphore = bench.semaphore(target, newName(), { limit: 1 });
      await refuse();
      const calls = [
        () => semaphore.acquire(1000),
        () => semaphore.acquire(0),
        () => semaphore.tryAcquire(),
      ];
      for (const call of calls) {
        const { took, error } = await timedRejection(call);
        expect(took).to.be.at.most(1050 + LATE_MS);
        expect(error).to.have.property('code').that.is.oneOf(['BACKEND', 'ACQUIRE_TIMEOUT']);
        expect(String((error as Error).cause)).to.include(word);
      }
    });

    itThroughBothClients(`is waited for while it is promoted: ${word}`, async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const { target } = await bench.connect(server().port);
      const semaphore = bench.semaphore(target, name, { limit: 1 });
      await refuse();
      const acquiring = semaphore.acquire(10_000);
      await sleep(100);
      await promote();
      const handle = await acquiring;
      await stored.expectHeldBy([handle]);
      expect(await handle.release()).to.equal(true);
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`costs no handle inside its lease: ${word}`, async (bench) => {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const { target } = await bench.connect(server().port);
      const options = { limit: 1, ttl: 10_000, extendEvery: 40 };
      const semaphore = bench.semaphore(target, name, options);
      const handle = await semaphore.acquire();
      let losses = 0;
      handle.on('lost', () => (losses += 1));
      const waiting = semaphore.acquire(10_000);
      await eventually(async () => expect(await stored.queue()).to.have.length(1));
      await refuse();
      await sleep(150);
      const releasing = handle.release();
      await sleep(20);
      await promote();
      expect(await releasing).to.equal(true);
      const next = await waiting;
      expect(next.fencingToken).to.be.above(handle.fencingToken);
      await serveStale('no');
      await demote();
      await sleep(150);
      await promote();
      const before = (await stored.tickets())[0]?.expiresAt ?? Infinity;
      await eventually(async () => {
        expect((await stored.tickets())[0]?.expiresAt).to.be.above(before);
      });
      expect(await next.release()).to.equal(true);
      await stored.expectEmpty();
      expect(losses).to.equal(0);
    });
  }
});
