import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';

import type { Handle } from '../../../src/index.js';
import { HandleLostError } from '../../../src/index.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';
import type { Scope } from '../scope.js';

const quick = { ttl: 20_000, extendEvery: 15 };

/** A handle that has been lost, and the error. */
async function lose(scope: Scope, handle: Handle): Promise<HandleLostError> {
  await scope.removeTicket(handle);
  return errorOf(handle.extend(), HandleLostError);
}

/** What is thrown and caught by nobody while `body` runs; mocha's own listener is away meanwhile. */
async function uncaughtDuring(body: () => Promise<void>): Promise<unknown[]> {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', note);
  try {
    await body();
    await turn();
  } finally {
    process.off('uncaughtException', note);
    for (const other of others) process.on('uncaughtException', other);
  }
  return uncaught;
}

export const lossListenerCases: CaseGroup = {
  title: 'listeners of a loss',
  cases: {
    'are told once, with the error [P6, RS 19]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      const told: unknown[] = [];
      handle.on('lost', (error) => told.push(error));
      const error = await lose(scope, handle);
      await eventually(() => expect(told).to.have.lengthOf(1));
      await moment(40);
      await handle.release();
      await scope.elsewhere().acquire();
      expect(told).to.deep.equal([error]);
    },

    'are all told': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const told: string[] = [];
      handle.on('lost', () => told.push('first'));
      handle.once('lost', () => told.push('second'));
      handle.addListener('lost', () => told.push('third'));
      handle.prependListener('lost', () => told.push('before'));
      await lose(scope, handle);
      expect(told).to.deep.equal(['before', 'first', 'second', 'third']);
    },

    'may listen with events.once': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      const event = once(handle, 'lost');
      await scope.removeTicket(handle);
      const [error] = (await scope.within(5000, event)) as unknown[];
      expect(error).to.be.instanceOf(HandleLostError);
    },

    'are told when they come late [P6, M 18]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const error = await lose(scope, handle);
      const told: unknown[] = [];
      handle.on('lost', (late) => told.push(late));
      expect(told, 'not in the same call').to.deep.equal([]);
      await eventually(() => expect(told).to.deep.equal([error]));
      const [again] = (await scope.within(5000, once(handle, 'lost'))) as unknown[];
      expect(again).to.equal(error);
      await moment(10);
      expect(told).to.deep.equal([error]);
    },

    'find a late signal aborted with the error [P6, M 18]': async (scope) => {
      const handle = await scope.semaphore().acquire();
      const error = await lose(scope, handle);
      expect(handle.signal.aborted).to.equal(true);
      expect(handle.signal.reason).to.equal(error);
    },

    'are told when they come after the first extension, before the loss': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      await handle.extend();
      await moment(40);
      const told: unknown[] = [];
      handle.on('lost', (error) => told.push(error));
      await scope.removeTicket(handle);
      await eventually(() => expect(told).to.have.lengthOf(1));
    },

    'are not told when they were taken off': async (scope) => {
      const handle = await scope.semaphore().acquire();
      let told = 0;
      const listener = (): void => {
        told += 1;
      };
      handle.on('lost', listener);
      handle.off('lost', listener);
      await lose(scope, handle);
      await moment(5);
      expect(told).to.equal(0);
    },

    'are never told after release() [P6, RS 26, M 17, M 19]': needing('time', async (scope) => {
      const handle = await scope.semaphore({ ttl: 20_000, extendEvery: 200 }).acquire();
      let told = 0;
      const listener = (): void => {
        told += 1;
      };
      handle.on('lost', listener);
      const { signal } = handle;
      await scope.removeTicket(handle);
      await handle.release();
      handle.on('lost', listener);
      await scope.pass(250);
      expect(told).to.equal(0);
      expect(signal.aborted).to.equal(false);
    }),

    'may throw: the others and other handles are told all the same [P6]': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const [one, two] = [await semaphore.acquire(), await semaphore.acquire()];
      const failure = new Error('a listener failed');
      const told: string[] = [];
      const throwing = (): never => {
        throw failure;
      };
      one.on('lost', throwing);
      one.on('lost', () => told.push('one'));
      two.on('lost', () => told.push('two'));
      const uncaught = await uncaughtDuring(async () => {
        await scope.removeTicket(one);
        await scope.removeTicket(two);
        const errors = [one, two].map((handle) => errorOf(handle.extend(), HandleLostError));
        await Promise.all(errors);
        await eventually(() => expect(told).to.deep.equal(['one', 'two']));
      });
      expect(uncaught).to.deep.equal([failure]);
      expect(one.signal.aborted).to.equal(true);
      expect(await semaphore.tryAcquire()).to.include({ held: true });
    },

    'may throw from the signal: the rest goes on [P6]': async (scope) => {
      const semaphore = scope.semaphore();
      const handle = await semaphore.acquire();
      const failure = new Error('an abort listener failed');
      const told: string[] = [];
      handle.signal.addEventListener('abort', () => {
        throw failure;
      });
      handle.on('lost', () => told.push('lost'));
      const uncaught = await uncaughtDuring(async () => {
        await lose(scope, handle);
        await eventually(() => expect(told).to.deep.equal(['lost']));
      });
      expect(uncaught).to.deep.equal([failure]);
      expect(await semaphore.acquire()).to.include({ held: true });
    },

    'are not needed: a loss that nobody listens to ends nothing [RS 17, RS#199]': async (scope) => {
      const handle = await scope.semaphore(quick).acquire();
      const uncaught = await uncaughtDuring(async () => {
        await scope.removeTicket(handle);
        await eventually(() => expect(handle.held).to.equal(false));
        await moment(10);
      });
      expect(uncaught).to.deep.equal([]);
    },

    'may release, acquire and close': async (scope) => {
      const semaphore = scope.semaphore({ limit: 2 });
      const handle = await semaphore.acquire();
      const react = async (): Promise<unknown> => {
        const released = await handle.release();
        const next = await semaphore.acquire();
        await semaphore.close();
        return [released, next.held];
      };
      const outcome = new Promise((resolve) => {
        handle.once('lost', () => resolve(react()));
      });
      await lose(scope, handle);
      expect(await outcome).to.deep.equal([false, false]);
    },
  },
};
