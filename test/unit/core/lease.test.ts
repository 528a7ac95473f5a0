import { expect } from 'chai';

import type { ExtendReply } from '../../../src/backends/backend.js';
import { UnfitServerError } from '../../../src/backends/unfit-server.js';
import { BackendError, ClosedError, HandleLostError } from '../../../src/index.js';
import { reasonOf } from '../../support/rejection.js';
import { never, watch } from '../stub-backend.js';
import { heldFixture, later, lossesOf, pushing } from '../stub-fixture.js';

/** The ttl of 3000 ms less 1 % and 2 ms: certainty ends there. */
const CERTAIN = 2968;
const broken = new Error('read ECONNRESET');

describe('extending', () => {
  it('keeps a ticket for as long as it is held, once in each third of its ttl, with one timer, or as extendEvery says', async () => {
    for (const [options, every] of [
      [{}, 1000],
      [{ extendEvery: 100 }, 100],
    ] as const) {
      const { backend, clock, handle, losses } = await heldFixture(options);
      await clock.advance(30.5 * every);
      expect(backend.extends.map(({ at }) => at)).to.deep.equal(
        Array.from({ length: 30 }, (_, i) => every * (i + 1)),
      );
      expect([handle.held, losses, clock.timers]).to.deep.equal([true, [], 1]);
      expect(handle.expiresIn).to.be.above(2000);
      await handle.release();
      await clock.advance(0);
      expect(clock.timers).to.equal(0);
    }
  });

  it('with extendEvery 0 happens by `extend()` alone, in one call for many', async () => {
    const { backend, clock, semaphore, handle, losses } = await heldFixture({ extendEvery: 0 });
    const others = lossesOf(await semaphore.acquire(), clock);
    await clock.advance(2500);
    await Promise.all(Array.from({ length: 20 }, () => handle.extend()));
    await clock.advance(CERTAIN - 1);
    expect(handle.held).to.equal(true);
    await clock.advance(1);
    const ends = [...others, ...losses].map(([at, { reason }]) => [at, reason]);
    expect(ends).to.deep.equal([CERTAIN, 2500 + CERTAIN].map((at) => [at, 'expired']));
    expect(backend.extends.length).to.be.within(1, 2);
    expect(clock.timers).to.equal(0);
  });

  it('on demand does not take the word of a call that was sent before', async () => {
    const { backend, clock, handle } = await heldFixture();
    const gate = later<void>();
    backend.onExtend = (call, index) =>
      gate.promise.then(() => backend.extended(call, index === 0));
    await clock.advance(1000);
    const extending = reasonOf(handle.extend());
    gate.resolve();
    expect(await extending).to.be.instanceOf(HandleLostError);
    expect(backend.extends).to.have.length(2);
  });

  for (const [what, answer, cause] of [
    ['fails', () => Promise.reject(broken), broken],
    ['is silent', () => never<ExtendReply>(), undefined],
  ] as const) {
    it(`is loss at the end of the lease, not before, not after, when each try ${what}`, async () => {
      const { backend, clock, handle, losses } = await heldFixture();
      backend.onExtend = answer;
      const { signal } = handle;
      await clock.advance(500);
      const extending = watch(clock, handle.extend());
      await clock.advance(CERTAIN - 501);
      expect([handle.held, losses.length]).to.deep.equal([true, 0]);
      await clock.advance(5000);
      const [[at, error] = []] = losses;
      expect([at, losses.length, error?.reason]).to.deep.equal([CERTAIN, 1, 'expired']);
      if (cause !== undefined) expect(error?.cause).to.equal(cause);
      expect(signal.reason).to.equal(error);
      expect(extending).to.include({ at, error });
      expect([handle.held, handle.expiresIn, clock.timers]).to.deep.equal([false, 0, 0]);
      expect(backend.extends.length).to.be.at.least(3);
    });
  }

  it('that fails by a server that cannot keep permits is loss at once, with the cause', async () => {
    const { backend, clock, losses } = await heldFixture();
    const unfit = new UnfitServerError('no scripts');
    backend.isRetryable = () => false;
    backend.onExtend = () => Promise.reject(unfit);
    await clock.advance(1000);
    const [[at, error] = []] = losses;
    expect([at, error?.reason, losses.length]).to.deep.equal([1000, 'expired', 1]);
    expect(error?.cause).to.be.instanceOf(BackendError).with.property('cause', unfit);
  });

  it('after a stall that the lease survived happens at once, and never after a loss', async () => {
    const { backend, clock, losses } = await heldFixture();
    clock.stall(2500);
    await clock.advance(0);
    clock.stall(3000);
    await clock.advance(5000);
    expect(losses.map(([at, { reason }]) => [at, reason])).to.deep.equal([[5500, 'expired']]);
    expect(backend.extends.map(({ at }) => at)).to.deep.equal([2500]);
  });

  it('that has failed is tried again after its pause, whatever messages any program sends', async () => {
    const { backend, clock, semaphore, handle } = await heldFixture({}, pushing());
    backend.onAcquire = (call) => backend.allQueued(call);
    const waiting = watch(clock, semaphore.acquire());
    backend.onExtend = () => Promise.reject(broken);
    await clock.advance(1100);
    const { extend } = backend.portCalls;
    for (let message = 0; message < 20; message += 1) {
      backend.listeners[0]?.onEnded?.([{ id: handle.id, reason: 'revoked' }], 'jobs');
      await clock.advance(0);
    }
    expect([extend, backend.portCalls.extend]).to.deep.equal([4, 4]);
    await semaphore.close();
    expect(waiting.error).to.be.instanceOf(ClosedError);
  });

  it('continues after a clock of the user has thrown', async () => {
    const { backend, clock, handle } = await heldFixture();
    const wall = clock.wall.bind(clock);
    let reads = 0;
    clock.wall = () => {
      reads += 1;
      // The look at the lease reads it first, and then the call that is about to leave.
      if (reads === 2) throw broken;
      return wall();
    };
    expect(await reasonOf(handle.extend())).to.equal(broken);
    await clock.advance(5000);
    expect([handle.held, backend.extends.length]).to.deep.equal([true, 5]);
  });

  it('that is confirmed after the loss does not hold again, but withdraws the ticket', async () => {
    const { backend, clock, handle, losses } = await heldFixture();
    const gate = later<void>();
    backend.onExtend = (call, index) =>
      index === 0 ? gate.promise.then(() => backend.extended(call)) : never();
    await clock.advance(3000);
    expect([losses.length, backend.givenBack]).to.deep.equal([1, []]);
    gate.resolve();
    await clock.advance(0);
    expect([handle.held, backend.givenBack, losses.length]).to.deep.equal([false, [handle.id], 1]);
  });

  it('ends with the release, whatever is under way, or asked for in that moment', async () => {
    const { backend, clock, semaphore, handle, losses } = await heldFixture();
    const gate = later<void>();
    backend.onExtend = (call) => gate.promise.then(() => backend.extended(call, false));
    const other = await semaphore.acquire();
    const atOnce = reasonOf(other.extend());
    await other.release();
    await clock.advance(1000);
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[handle.id]]);
    const underWay = reasonOf(handle.extend());
    expect(await handle.release()).to.equal(true);
    for (const extending of [atOnce, underWay, reasonOf(handle.extend())])
      expect(await extending)
        .to.be.instanceOf(HandleLostError)
        .and.include({ reason: 'released' });
    gate.resolve();
    await clock.advance(30_000);
    expect([losses, backend.extends.length, clock.timers]).to.deep.equal([[], 1, 0]);
  });
});
