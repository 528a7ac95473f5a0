import { expect } from 'chai';

import type { CompositeHandle, Semaphore } from '../../../src/index.js';
import {
  acquireAll,
  AcquireTimeoutError,
  ClosedError,
  HandleLostError,
  MemoryBackend,
  Semaphore as SemaphoreOn,
  useAll,
} from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import type { CaseGroup } from '../case-group.js';
import { needing } from '../case-group.js';
import { type Scope, untilLost, untilState } from '../scope.js';

/** Two semaphores whose names are in this order. */
function two(scope: Scope, limit = 1): [Semaphore, Semaphore] {
  const [a, b] = ['a', 'b'].map((end) => scope.semaphore({ limit }, `${scope.name}-${end}`));
  if (a === undefined || b === undefined) throw new Error('there are two');
  return [a, b];
}

/** Many loops at once, each naming the semaphores in its order: one is inside at a time. */
async function expectNoDeadlock(orders: readonly (readonly Semaphore[])[]): Promise<void> {
  let inside = 0;
  const work = async (): Promise<void> => {
    inside += 1;
    expect(inside).to.equal(1);
    await Promise.resolve();
    inside -= 1;
  };
  const loop = async (semaphores: readonly Semaphore[]): Promise<void> => {
    for (let round = 0; round < 15; round += 1) await useAll(semaphores, work);
  };
  await Promise.all(orders.map(loop));
}

async function removePart(scope: Scope, handle: CompositeHandle, index: number): Promise<void> {
  const part = handle.handles[index];
  if (part !== undefined) await scope.removeTicket(part);
}

export const acquireAllCases: CaseGroup = {
  title: 'acquireAll',
  cases: {
    'takes permits of all, and gives all of them back': async (scope) => {
      const [a, b] = two(scope);
      const handle = await acquireAll([b, a]);
      expect(handle.handles.map(({ name }) => name)).to.deep.equal([b.name, a.name]);
      expect(handle).to.include({ held: true });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      handle.assertHeld();
      await handle.extend();
      const released: string[] = [];
      for (const part of handle.handles) part.on('released', () => released.push(part.name));
      handle.on('released', () => released.push('all'));
      expect(await handle.release()).to.equal(true);
      expect(released.slice(0, 2)).to.have.members([a.name, b.name]);
      expect(released.slice(2)).to.deep.equal(['all']);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      for (const semaphore of [a, b]) await untilState(semaphore, { held: 0 });
    },

    'takes several permits of each, and asks for each semaphore once': async (scope) => {
      const [a, b] = two(scope, 3);
      const handle = await acquireAll([a, b, { semaphore: a, permits: 2 }, { semaphore: b }]);
      const [first, second, third] = handle.handles;
      expect(first).to.equal(third);
      expect([first?.slots, second?.slots]).to.deep.equal([
        [0, 1, 2],
        [0, 1],
      ]);
      expect(await a.inspect()).to.include({ held: 3 });
      expect(await handle.release()).to.equal(true);
      const tooMany = await errorOf(acquireAll([a, { semaphore: a, permits: 3 }]), RangeError);
      expect(tooMany.message).to.match(/^permits: .*got 4/);
      await untilState(a, { held: 0 });
    },

    'holds nothing for an empty list': async () => {
      const handle = await acquireAll([], 0);
      expect(handle).to.include({ held: true, expiresIn: Infinity });
      await handle.extend();
      expect(await handle.release()).to.equal(true);
      expect(handle.held).to.equal(false);
    },

    'asks two objects for one semaphore as one, too': needing('queue', async (scope) => {
      const [one, other] = scope.pair({ limit: 2 });
      const holder = await one.acquire();
      const waiting = acquireAll([one, other]);
      await untilState(one, { held: 1, waiting: 1 });
      expect((await one.inspect()).waiters[0]).to.include({ permits: 2 });
      await holder.release();
      const handle = await waiting;
      expect(new Set(handle.handles)).to.have.property('size', 1);
      expect(handle.handles[0]?.slots).to.deep.equal([0, 1]);
      expect(await handle.release()).to.equal(true);
      // Three permits of two can never come free: it must not wait for them.
      const impossible = acquireAll([one, other, scope.semaphore({ limit: 2 })]);
      await errorOf(impossible, RangeError);
      await untilState(one, { held: 0 });
    }),

    'gives back at once what it took when one is not free': needing('queue', async (scope) => {
      const [a, b] = two(scope);
      const holder = await b.acquire();
      const late = await errorOf(acquireAll([b, a], 60), AcquireTimeoutError);
      expect(late).to.include({ timeout: 60 });
      await untilState(a, { held: 0 });
      const once = await errorOf(acquireAll([b, a], 0), AcquireTimeoutError);
      expect(once).to.include({ timeout: 0, semaphore: b.name });
      await untilState(a, { held: 0 });
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = reasonOf(acquireAll([b, a], { signal }));
      await untilState(b, { held: 1, waiting: 1 });
      await untilState(a, { held: 1 });
      controller.abort('enough');
      expect(await waiting).to.equal('enough');
      await untilState(a, { held: 0 });
      await untilState(b, { held: 1, waiting: 0 });
      await holder.release();
      expect(await reasonOf(acquireAll([a, b], { signal }))).to.equal('enough');
    }),

    'never deadlocks, whatever order callers name the semaphores in': async (scope) => {
      const [a, b] = two(scope);
      const there = [a, b].map(({ name }) => scope.elsewhere({}, name));
      await expectNoDeadlock([[a, b], [b, a], there, there.toReversed()]);
      // Of one name on two backends, too.
      await using here = new SemaphoreOn(new MemoryBackend(), b.name, { limit: 1 });
      await expectNoDeadlock([[here, b], [b, here], there]);
    },

    'is lost once, when one part is, and keeps the others until release [P6]': async (scope) => {
      const [a, b] = two(scope);
      const handle = await acquireAll([a, b]);
      const losses: unknown[] = [];
      handle.on('lost', (error) => losses.push(error));
      for (const index of [1, 0]) await removePart(scope, handle, index);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(losses).to.deep.equal([error]);
      expect(handle.held).to.equal(false);
      expect(await untilLost(handle)).to.equal(error);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(await handle.release()).to.equal(false);
      expect(losses).to.have.lengthOf(1);
      // A look after the loss finds it, too.
      for (const look of ['listener', 'signal']) {
        const again = await acquireAll([a, b]);
        await removePart(scope, again, 1);
        await errorOf(again.extend(), HandleLostError);
        if (look === 'signal') expect(again.signal.aborted).to.equal(true);
        else expect(await untilLost(again)).to.be.instanceOf(HandleLostError);
        await again.release();
      }
    },

    'is lost when one of the semaphores is closed': async (scope) => {
      const [a, b] = two(scope);
      const handle = await acquireAll([a, b]);
      const { signal } = handle;
      await b.close();
      expect(signal.reason).to.include({ reason: 'closed', semaphore: b.name });
      expect(handle.held).to.equal(false);
      await errorOf(acquireAll([a, b]), ClosedError);
      expect(await handle.release()).to.equal(false);
      await untilState(a, { held: 0 });
    },

    'releases at the end of the block, and never throws there': async (scope) => {
      const [a, b] = two(scope);
      {
        await using handle = await acquireAll([a, b]);
        await removePart(scope, handle, 0);
      }
      const failure = new Error('the job failed');
      const failing = useAll([a, b], () => Promise.reject(failure));
      expect(await reasonOf(failing)).to.equal(failure);
      expect(await useAll([b, a], ({ held }) => held)).to.equal(true);
      for (const semaphore of [a, b]) await untilState(semaphore, { held: 0 });
    },
  },
};
