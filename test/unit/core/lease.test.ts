import { expect } from 'chai';

import type { ExtendReply } from '../../../src/backends/backend.js';
import { UnfitServerError } from '../../../src/backends/unfit-server.js';
import { BackendError, HandleLostError } from '../../../src/index.js';
import { never, watch } from '../stub-backend.js';
import { heldFixture, later, lossesOf } from '../stub-fixture.js';

/** The ttl of 3000 ms less 1 % and 2 ms: certainty ends there. */
const CERTAIN = 2968;
const broken = new Error('read ECONNRESET');

describe('extending', () => {
  it('keeps a ticket for as long as it is held, once in each third of its ttl, with one timer', async () => {
    const { backend, clock, handle, losses } = await heldFixture();
    await clock.advance(30_500);
    expect(backend.extends.map(({ at }) => at)).to.deep.equal(
      Array.from({ length: 30 }, (_, i) => 1000 * (i + 1)),
    );
    expect([handle.held, losses, clock.timers]).to.deep.equal([true, [], 1]);
    expect(handle.expiresIn).to.be.above(2000);
    await handle.release();
    await clock.advance(0);
    expect(clock.timers).to.equal(0);
  });

  it('keeps to extendEvery; with 0 only `extend()` extends', async () => {
    const often = await heldFixture({ extendEvery: 100 });
    await often.clock.advance(1050);
    expect(often.backend.extends).to.have.length(10);
    const { backend, clock, semaphore, handle, losses } = await heldFixture({ extendEvery: 0 });
    const others = lossesOf(await semaphore.acquire(), clock);
    await clock.advance(2500);
    await Promise.all(Array.from({ length: 20 }, () => handle.extend()));
    expect(backend.extends.length).to.be.within(1, 2);
    await clock.advance(CERTAIN - 1);
    expect([handle.held, losses]).to.deep.equal([true, []]);
    await clock.advance(1);
    expect(losses.map(([at, { reason }]) => [at, reason])).to.deep.equal([
      [2500 + CERTAIN, 'expired'],
    ]);
    expect(others.map(([at]) => at)).to.deep.equal([CERTAIN]);
    expect([backend.extends.length <= 2, clock.timers]).to.deep.equal([true, 0]);
  });

  it('on demand does not take the word of a call that was sent before', async () => {
    const { backend, clock, handle } = await heldFixture();
    const reply = later<void>();
    backend.onExtend = (call) => reply.promise.then(() => backend.extended(call, true));
    await clock.advance(1000);
    const extending = watch(clock, handle.extend());
    backend.onExtend = (call) => backend.extended(call, false);
    reply.resolve();
    await clock.advance(0);
    expect(extending.error).to.be.instanceOf(HandleLostError);
    expect(backend.extends).to.have.length(2);
  });

  describe('that fails', () => {
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
        await clock.advance(1);
        const [[at, error] = []] = losses;
        expect([at, losses.length, error?.reason]).to.deep.equal([CERTAIN, 1, 'expired']);
        if (cause !== undefined) expect(error?.cause).to.equal(cause);
        expect(signal.reason).to.equal(error);
        expect(extending).to.include({ at, error });
        expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
        expect(backend.extends.length).to.be.at.least(3);
        await clock.advance(5000);
        expect([losses.length, clock.timers]).to.deep.equal([1, 0]);
      });
    }

    it('by a server that cannot keep permits is loss at once, with the cause', async () => {
      const { backend, clock, losses } = await heldFixture();
      const unfit = new UnfitServerError('no scripts');
      backend.isRetryable = () => false;
      backend.onExtend = () => Promise.reject(unfit);
      await clock.advance(1000);
      const [[at, error] = []] = losses;
      expect([at, error?.reason, losses.length]).to.deep.equal([1000, 'expired', 1]);
      expect(error?.cause).to.be.instanceOf(BackendError).with.property('cause', unfit);
    });
  });

  describe('after a stall', () => {
    it('that the lease survived happens at once, and never after a loss', async () => {
      const { backend, clock, losses } = await heldFixture();
      clock.stall(2500);
      await clock.advance(0);
      clock.stall(3000);
      await clock.advance(5000);
      expect(losses.map(([at, { reason }]) => [at, reason])).to.deep.equal([[5500, 'expired']]);
      expect(backend.extends.map(({ at }) => at)).to.deep.equal([2500]);
    });

    it('does not hold again when an extension is confirmed after the loss, but withdraws the ticket', async () => {
      const { backend, clock, handle, losses } = await heldFixture();
      const gate = later<void>();
      backend.onExtend = (call, index) =>
        index === 0 ? gate.promise.then(() => backend.extended(call)) : never();
      await clock.advance(3000);
      expect([losses.length, backend.givenBack]).to.deep.equal([1, []]);
      gate.resolve();
      await clock.advance(0);
      expect([handle.held, backend.givenBack]).to.deep.equal([false, [handle.id]]);
      expect(losses).to.have.length(1);
    });
  });

  it('ends with the release, whatever is under way, or asked for in that moment', async () => {
    const { backend, clock, semaphore, handle, losses } = await heldFixture();
    const gate = later<void>();
    backend.onExtend = (call) => gate.promise.then(() => backend.extended(call, false));
    const other = await semaphore.acquire();
    const atOnce = watch(clock, other.extend());
    await other.release();
    await clock.advance(1000);
    expect(backend.extends.map(({ call }) => call.ids)).to.deep.equal([[handle.id]]);
    const underWay = watch(clock, handle.extend());
    expect(await handle.release()).to.equal(true);
    const after = watch(clock, handle.extend());
    gate.resolve();
    await clock.advance(30_000);
    for (const { error } of [atOnce, underWay, after])
      expect(error).to.be.instanceOf(HandleLostError).with.property('reason', 'released');
    expect([losses, backend.extends.length, clock.timers]).to.deep.equal([[], 1, 0]);
  });
});
