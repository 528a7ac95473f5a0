import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { nextMillisecond } from '../../support/moment.js';

const retry = { min: 5, max: 20 };

function tokensOf(handles: readonly Handle[]): number[] {
  return handles.map(({ fencingToken }) => fencingToken);
}

function expectRising(tokens: readonly number[]): void {
  for (const [i, token] of tokens.entries()) {
    expect(Number.isSafeInteger(token), `${token} is a safe integer`).to.equal(true);
    if (i > 0) expect(token).to.be.greaterThan(tokens[i - 1] ?? Infinity);
  }
}

export const fencingCases: CaseGroup = {
  title: 'fencing tokens',
  cases: {
    'are safe integers that rise with every grant [P2, SG, SM]': async (scope) => {
      const [here, there] = [scope.semaphore({ limit: 3 }), scope.elsewhere({ limit: 3 })];
      const tokens: number[] = [];
      for (let round = 0; round < 4; round += 1) {
        const handles = [await here.acquire(0), await there.acquire(0), await here.acquire(0)];
        tokens.push(...tokensOf(handles));
        for (const handle of handles.toReversed()) await handle.release();
      }
      expectRising(tokens);
    },

    'rise within one batch, too [P2]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 30 });
      const handles = await Promise.all(Array.from({ length: 30 }, () => semaphore.acquire({})));
      expectRising(tokensOf(handles));
    },

    'rise from holder to waiter, over processes [P2, O 4]': async (scope) => {
      const [here, there] = [scope.semaphore({ retry }), scope.elsewhere({ retry })];
      const tokens: number[] = [];
      let holder = await here.acquire();
      for (let round = 0; round < 6; round += 1) {
        tokens.push(holder.fencingToken);
        const waiting = (round % 2 === 0 ? there : here).acquire();
        await scope.untilWaiting(1);
        await holder.release();
        holder = await waiting;
      }
      expectRising(tokens);
    },

    'go on rising after the last permit is back [P2, SG]': async (scope) => {
      const semaphore = scope.semaphore();
      const tokens: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        tokens.push(await semaphore.use(({ fencingToken }) => fencingToken));
      }
      expectRising(tokens);
    },

    'go on rising when all data are lost [P2, SG]': needing('keys', async (scope) => {
      const semaphore = scope.semaphore({ limit: 3 });
      const tokens: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const handles = [await semaphore.acquire(), await semaphore.acquire()];
        tokens.push(...tokensOf(handles));
        const parts = [...(await scope.ownKeys()).keys()];
        await scope.keys.delete(...parts.map((part) => scope.ownKey(part)));
        // The clock of ioredis-mock counts whole milliseconds only.
        await nextMillisecond();
      }
      expectRising(tokens);
    }),

    'stay the same for as long as the permit is held [SG]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const { fencingToken, slots, id } = handle;
      await handle.extend();
      expect(handle).to.include({ fencingToken, slots, id });
      const [holder] = (await scope.elsewhere().inspect()).holders;
      expect(holder).to.deep.include({ fencingToken, slots: [...slots], id });
    },

    'let a guarded resource refuse a stale holder of the same slot [P2, O 4]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const highest = new Map<number, number>();
      const write = ({ slot, fencingToken }: Handle): boolean => {
        if (fencingToken < (highest.get(slot) ?? 0)) return false;
        highest.set(slot, fencingToken);
        return true;
      };
      const stale = await semaphore.acquire();
      const neighbour = await semaphore.acquire();
      await scope.ageTicket(stale, 0);
      const successor = await semaphore.acquire();
      expect(successor.slot).to.equal(stale.slot);
      expect([successor, neighbour].map(write)).to.deep.equal([true, true]);
      expect(write(stale), 'the stale holder').to.equal(false);
    },
  },
};
