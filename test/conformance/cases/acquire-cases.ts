import { expect } from 'chai';

import { AcquireTimeoutError, type Handle, isRedsemError } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { moment } from '../../support/moment.js';
import { errorOf } from '../../support/rejection.js';
import { caseGroup } from '../scope.js';

/** `most`: the permits of the largest request. */
const LOADS = [
  { limit: 10, taken: 0, tasks: 100, most: 1 },
  { limit: 1, taken: 0, tasks: 40, most: 1 },
  { limit: 5, taken: 4, tasks: 20, most: 1 },
  { limit: 5, taken: 0, tasks: 60, most: 5 },
];

export const acquireCases = caseGroup('acquire and tryAcquire', [], (it) => {
  it('give as many permits as the limit says and no more, over all objects [P1]', async (scope) => {
    // A ttl may be any number.
    const other = scope.semaphore({ limit: 5, ttl: 29_000.75, extendEvery: 1000.5 });
    const [here, there] = scope.pair({ limit: 5 });
    expect(here).to.include({ limit: 5, name: scope.name });
    const three = Promise.all([here.acquire(), here.acquire(0), here.acquire(1000)]);
    const handles = [...(await three), await there.tryAcquire(), await other.acquire()];
    expect(new Set(handles.map((handle) => handle?.id))).to.have.lengthOf(5);
    expect(handles.map((handle) => handle?.slot)).to.have.members([0, 1, 2, 3, 4]);
    for (const each of [here, there, other]) expect(await each.tryAcquire()).to.equal(null);
    await handles[0]?.release();
    expect(await there.tryAcquire()).to.include({ held: true, slot: handles[0]?.slot });
    const error = await errorOf(here.acquire(0), AcquireTimeoutError);
    expect(error).to.include({ semaphore: scope.name, timeout: 0, attempts: 1 });
    expect(error.cause).to.equal(undefined);
    expect(await here.inspect()).to.include({ held: 5, waiting: 0 });
    for (const handle of handles.slice(1)) {
      expect(handle).to.include({ name: scope.name, held: true });
      expect(handle?.id).to.be.a('string').that.is.not.empty;
      expect(handle?.slots).to.deep.equal([handle?.slot]);
      expect(handle?.signal.aborted).to.equal(false);
      expect(handle?.expiresIn).to.be.within(20_000, 30_000);
      handle?.assertHeld();
      await handle?.extend();
      expect(await handle?.release()).to.equal(true);
    }
  });

  it('give each permit and no slot twice, however many tasks wait for them [P1]', async (scope) => {
    for (const { limit, taken, tasks, most } of LOADS) {
      const semaphores = scope.pair({ limit }, scope.freshName());
      const users = new Map<number, Handle>();
      // A process that stalls may lose a permit, and its handle is not held from then on.
      const begin = (handle: Handle): void => {
        for (const slot of handle.slots) {
          expect(users.get(slot)?.held ?? false, `slot ${slot} is used twice`).to.equal(false);
          expect(slot).to.be.within(0, limit - 1);
          users.set(slot, handle);
        }
      };
      if (taken > 0) begin(await semaphores[0].acquire({ permits: taken }));
      let peak = 0;
      const task = async (i: number): Promise<void> => {
        const semaphore = semaphores[i % 2] ?? semaphores[0];
        await using handle = await semaphore.acquire({ permits: 1 + ((i * 7) % most) });
        begin(handle);
        peak = Math.max(peak, users.size);
        // No task leaves before all slots were taken.
        if (most === 1) await eventually(() => peak === limit);
        await moment(i % 3);
        for (const slot of handle.slots) if (users.get(slot) === handle) users.delete(slot);
      };
      await Promise.all(Array.from({ length: tasks }, (_, i) => task(i)));
      expect(peak).to.equal(limit);
      expect(await semaphores[1].inspect()).to.include({ held: taken, waiting: 0 });
    }
  });
});

export const timeoutCases = caseGroup('acquire with a timeout', ['time'], (it) => {
  it('rejects in time, with the semaphore and the time of the wait [P5]', async (scope) => {
    const { time } = scope.place;
    await time.within(1000, scope.elsewhere().acquire());
    const started = time.now();
    const waiting = errorOf(scope.semaphore().acquire(80), AcquireTimeoutError);
    const took = waiting.then(() => time.now() - started);
    const error = await time.within(5000, waiting);
    expect(await took).to.be.within(79, 80 + time.late);
    expect(error.waited).to.be.within(79, Math.ceil(await took));
    // Its cause depends on whether a call was under way at that moment.
    expect(error).to.include({ code: 'ACQUIRE_TIMEOUT', semaphore: scope.name, timeout: 80 });
    expect(error.attempts).to.be.at.least(1);
    expect(error.message).to.include(scope.name).and.to.include('80');
    expect(isRedsemError(error)).to.equal(true);
  });
});
