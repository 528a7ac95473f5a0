import { once } from 'node:events';
import { expect } from 'chai';

import { eventually } from '../../support/eventually.js';
import { uncaughtDuring } from '../../support/uncaught.js';
import type { CaseGroup } from '../case-group.js';
import { expectLost, type Scope, untilLost } from '../scope.js';

const quick = { limit: 2, ttl: 20_000, extendEvery: 15 };

/** Milliseconds that the ticket with the shortest life has left, by the backend's own clock. */
async function leftThere(scope: Scope): Promise<number> {
  const { holders } = await scope.elsewhere().inspect();
  return Math.min(...holders.map(({ expiresIn }) => expiresIn));
}

export const lossCases: CaseGroup = {
  title: 'extension and loss',
  cases: {
    'a loss is noticed at the next extension, by its holder alone': async (scope) => {
      const semaphore = scope.semaphore(quick);
      const kept = await semaphore.acquire();
      for (const expired of [false, true]) {
        const handle = await semaphore.acquire();
        const { signal } = handle;
        const [aborted, lost] = [once(signal, 'abort'), untilLost(handle)];
        await (expired ? scope.ageTicket(handle, 0) : scope.removeTicket(handle));
        await scope.within(5000, aborted);
        const error = await lost;
        expect(error.name).to.equal('HandleLostError');
        await expectLost(handle, error, 'missing');
        expect(handle.signal).to.equal(signal);
        expect(await semaphore.inspect()).to.include({ held: 1 });
        const next = await semaphore.acquire();
        expect(next.fencingToken).to.be.greaterThan(handle.fencingToken);
        await next.extend();
        await next.release();
      }
      await kept.extend();
      expect(kept.signal.aborted).to.equal(false);
    },

    'a loss reaches the other listeners and handles when a listener throws': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const handles = [await semaphore.acquire(), await semaphore.acquire()];
      const failures = [new Error('a listener failed'), new Error('an abort listener failed')];
      const [first, second] = failures.map((failure) => (): never => {
        throw failure;
      });
      const heard: number[] = [];
      if (first !== undefined) handles[0]?.on('lost', first);
      if (second !== undefined) handles[1]?.signal.addEventListener('abort', second);
      for (const [i, handle] of handles.entries()) handle.on('lost', () => heard.push(i));
      const uncaught = await uncaughtDuring(async () => {
        for (const handle of handles) await scope.lose(handle);
        await eventually(() => expect(heard).to.deep.equal([0, 1]));
      });
      expect(uncaught).to.have.members(failures);
      for (const { signal } of handles) expect(signal.aborted).to.equal(true);
      expect(await semaphore.acquire()).to.include({ held: true });
    },

    'an extension happens by itself, for all handles, whenever they came': async (scope) => {
      const semaphore = scope.semaphore({ limit: 20, ttl: 600_000, extendEvery: 20 });
      for (let i = 0; i < 10; i += 1) await scope.ageTicket(await semaphore.acquire(), 200_000);
      await eventually(async () => expect(await leftThere(scope)).to.be.greaterThan(400_000));
      expect(await semaphore.inspect()).to.include({ held: 10 });
    },
  },
};
