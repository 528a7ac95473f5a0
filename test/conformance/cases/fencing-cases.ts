import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { nextMillisecond } from '../../support/moment.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';

function expectRising(handles: readonly Handle[]): void {
  let last = 0;
  for (const { fencingToken } of handles) {
    expect(Number.isSafeInteger(fencingToken), `${fencingToken} is a safe integer`).to.equal(true);
    expect(fencingToken).to.be.greaterThan(last);
    last = fencingToken;
  }
}

/** [P2, O 4, SG, SM] */
export const fencingCases: CaseGroup = {
  title: 'fencing tokens',
  cases: {
    'are safe integers that rise with every grant, within a batch, too [P2]': async (scope) => {
      const [here, there] = scope.pair({ limit: 30 });
      const handles: Handle[] = [];
      // The last permit comes back after each round.
      for (let round = 0; round < 4; round += 1) {
        const three = [await here.acquire(0), await there.acquire(0), await here.acquire(0)];
        handles.push(...three);
        for (const handle of three.toReversed()) await handle.release();
      }
      handles.push(...(await Promise.all(Array.from({ length: 30 }, () => here.acquire({})))));
      expectRising(handles);
    },

    'rise from holder to waiter, over processes [P2]': needing('queue', async (scope) => {
      const [here, there] = scope.pair();
      const handles = [await here.acquire()];
      for (let round = 0; round < 6; round += 1) {
        const waiting = (round % 2 === 0 ? there : here).acquire();
        await scope.untilWaiting(1);
        await handles.at(-1)?.release();
        handles.push(await waiting);
      }
      expectRising(handles);
    }),

    'rise when all data are lost, too [P2]': needing('keys', async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const handles: Handle[] = [];
      for (let round = 0; round < 3; round += 1) {
        handles.push(await semaphore.acquire(), await semaphore.acquire());
        const parts = [...(await scope.ownKeys()).keys()];
        await scope.keys.delete(...parts.map((part) => scope.ownKey(part)));
        // The clock of ioredis-mock counts whole milliseconds only.
        await nextMillisecond();
      }
      expectRising(handles);
    }),

    'stay the same for as long as the permit is held': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const { fencingToken, slots, id } = handle;
      await handle.extend();
      expect(handle).to.include({ fencingToken, slots, id });
      const [holder] = (await scope.elsewhere().inspect()).holders;
      expect(holder).to.deep.include({ fencingToken, slots: [...slots], id });
    },

    'let a resource refuse a stale holder by slot [P2]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const highest = new Map<number, number>();
      const write = ({ slot, fencingToken }: Handle): boolean => {
        if (fencingToken < (highest.get(slot) ?? 0)) return false;
        highest.set(slot, fencingToken);
        return true;
      };
      const low = await semaphore.acquire();
      const [stale, middle] = [await semaphore.acquire(), await semaphore.acquire()];
      expect(write(stale), 'in time').to.equal(true);
      await scope.ageTicket(stale, 0);
      const successor = await semaphore.acquire();
      expect(successor.slot).to.equal(stale.slot);
      expect(write(successor)).to.equal(true);
      // By its highest token alone the resource would refuse these, too.
      for (const coHolder of [low, middle]) {
        expect(coHolder.fencingToken).to.be.below(successor.fencingToken);
        expect(write(coHolder), 'a co-holder').to.equal(true);
      }
      expect(write(stale), 'the stale holder').to.equal(false);
      expect(write(successor), 'the successor again').to.equal(true);
    },
  },
};
