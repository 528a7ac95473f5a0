import { expect } from 'chai';

import type { ExtendReply } from '../../src/backend.js';
import { BackendError, HandleLostError } from '../../src/errors.js';
import type { Handle } from '../../src/handle.js';
import type { SemaphoreOptions } from '../../src/options.js';
import { Semaphore } from '../../src/semaphore.js';
import { never, StubBackend, watch } from './stub-backend.js';

const PLAIN = { min: 10, max: 200, factor: 2, jitter: false };

/** Handles that are garbage collected give a warning. */
const kept: Handle[] = [];

describe('extending', () => {
  async function held(options: Partial<SemaphoreOptions> = {}) {
    const backend = new StubBackend();
    const { clock } = backend;
    backend.onAcquire = (call) => backend.allGranted(call);
    const given = { limit: 10_000, ttl: 3000, retry: PLAIN, ...options };
    const semaphore = new Semaphore(backend, 'jobs', given);
    const handle = await semaphore.acquire();
    kept.push(handle);
    return { backend, clock, semaphore, handle, losses: lossesOf(handle, backend) };
  }

  function lossesOf(handle: Handle, { clock }: StubBackend): [number, HandleLostError][] {
    const losses: [number, HandleLostError][] = [];
    handle.on('lost', (error) => losses.push([clock.monotonic(), error]));
    return losses;
  }

  it('keeps a ticket for as long as it is held, once in each third of its ttl', async () => {
    const { backend, clock, handle, losses } = await held();
    await clock.advance(30_500);
    expect(backend.extends.map(({ at }) => at)).to.deep.equal(
      Array.from({ length: 30 }, (_, i) => 1000 * (i + 1)),
    );
    expect([handle.held, losses]).to.deep.equal([true, []]);
    expect(handle.expiresIn).to.be.above(2000);
  });

  it('takes one call for all tickets of a semaphore, at most 1000 in each', async () => {
    const { backend, clock, semaphore } = await held();
    kept.push(...(await Promise.all(Array.from({ length: 2500 }, () => semaphore.acquire()))));
    await clock.advance(1000);
    expect(backend.extends.flatMap(({ call }) => call.ids)).to.have.length(2501);
    for (const { call } of backend.extends) expect(call.ids.length).to.be.at.most(1000);
    // 5000 handles may cost 10 calls in a second.
    expect(backend.extends.length).to.be.at.most(5);
  });

  it('keeps to extendEvery, and does not extend at all with 0', async () => {
    const often = await held({ extendEvery: 100 });
    await often.clock.advance(1050);
    expect(often.backend.extends).to.have.length(10);
    const unextended = await held({ extendEvery: 0 });
    await unextended.clock.advance(3000);
    expect(unextended.backend.extends).to.have.length(0);
    expect(unextended.losses.map(([, { reason }]) => reason)).to.deep.equal(['expired']);
  });

  it('on demand gives the full ttl, at once, also with extendEvery 0', async () => {
    const { backend, clock, handle, losses } = await held({ extendEvery: 0 });
    await clock.advance(2500);
    await handle.extend();
    expect(backend.extends).to.have.length(1);
    expect(handle.expiresIn).to.be.above(2900);
    await clock.advance(2500);
    expect([handle.held, losses]).to.deep.equal([true, []]);
  });

  it('on demand from many callers travels together', async () => {
    const { backend, handle } = await held();
    await Promise.all(Array.from({ length: 20 }, () => handle.extend()));
    expect(backend.extends.length).to.be.at.most(2);
  });

  describe('that fails', () => {
    it('is not loss: it is tried again inside the lease', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = (call, index) => {
        if (index < 5) throw new Error('read ECONNRESET');
        return backend.extended(call);
      };
      await clock.advance(1700);
      expect(backend.extends).to.have.length(6);
      expect(new Set(backend.extends.map(({ call }) => call.ids[0])).size).to.equal(1);
      expect([handle.held, losses]).to.deep.equal([true, []]);
      expect(handle.expiresIn).to.be.above(2000);
    });

    it('until the lease ends is loss, at that moment, with the last error as cause', async () => {
      const { backend, clock, handle, losses } = await held();
      const cause = new Error('connect ECONNREFUSED');
      backend.onExtend = () => Promise.reject(cause);
      const { signal } = handle;
      await clock.advance(2950);
      expect([handle.held, losses.length]).to.deep.equal([true, 0]);
      await clock.advance(50);
      expect(losses).to.have.length(1);
      expect(losses[0]?.[0])
        .to.be.at.most(3000 - 32)
        .and.at.least(3000 - 50);
      expect(losses[0]?.[1]).to.include({ reason: 'expired', cause });
      expect(signal.reason).to.equal(losses[0]?.[1]);
      expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
    });

    it('while the backend is silent is loss at the same moment, and is tried meanwhile', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = () => never();
      await clock.advance(3000);
      expect(losses[0]?.[0]).to.be.within(3000 - 50, 3000 - 32);
      expect(handle.held).to.equal(false);
      expect(backend.extends.length).to.be.at.least(3);
    });

    it('counts from the moment at which the last confirmed one was sent, not from its reply', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = (call, index) =>
        index > 0
          ? never()
          : new Promise((resolve) => clock.schedule(() => resolve(backend.extended(call)), 400));
      await clock.advance(1400);
      expect(handle.expiresIn).to.be.at.most(2600 - 32);
      await clock.advance(5000);
      expect(losses[0]?.[0]).to.be.within(4000 - 50, 4000 - 32);
    });

    it('for good is told to who asked for it, and the ticket is kept trying', async () => {
      const { backend, clock, handle, losses } = await held();
      const cause = new Error('NOPERM no permissions');
      backend.isRetryable = () => false;
      backend.onExtend = () => Promise.reject(cause);
      const extending = watch(clock, handle.extend());
      await clock.advance(0);
      expect(extending.error).to.be.instanceOf(BackendError);
      expect(extending.error).to.include({ cause });
      expect([handle.held, losses]).to.deep.equal([true, []]);
      backend.onExtend = (call) => backend.extended(call);
      await clock.advance(4000);
      expect([handle.held, losses]).to.deep.equal([true, []]);
    });

    it('on demand rejects with the loss when the lease ends before one is confirmed', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = () => never();
      const extending = watch(clock, handle.extend());
      await clock.advance(3000);
      expect(extending.error).to.equal(losses[0]?.[1]);
      expect(extending.at).to.equal(losses[0]?.[0]);
    });
  });

  describe('of a ticket that is gone', () => {
    it('is loss at once, with reason missing, and nothing more is sent for it but its withdrawal', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = (call) => backend.extended(call, false);
      await clock.advance(1000);
      expect(losses.map(([at, { reason }]) => [at, reason])).to.deep.equal([[1000, 'missing']]);
      expect(handle.held).to.equal(false);
      await clock.advance(60_000);
      expect(backend.extends).to.have.length(1);
      expect(losses).to.have.length(1);
      expect(clock.timers).to.equal(0);
    });

    it('costs that ticket alone', async () => {
      const { backend, clock, semaphore, handle, losses } = await held();
      const other = await semaphore.acquire();
      backend.onExtend = (call): ExtendReply => ({
        ...backend.extended(call),
        extended: call.ids.map((id) => id !== handle.id),
      });
      await clock.advance(5000);
      expect(losses).to.have.length(1);
      expect(other.held).to.equal(true);
    });

    it('on demand rejects with the loss', async () => {
      const { backend, clock, handle, losses } = await held();
      backend.onExtend = (call) => backend.extended(call, false);
      const extending = watch(clock, handle.extend());
      await clock.advance(0);
      expect(extending.error).to.equal(losses[0]?.[1]);
      expect(extending.error).to.include({ reason: 'missing' });
    });
  });

  describe('after a stall', () => {
    it('finds held false at the first look, before any timer ran', async () => {
      const { clock, handle, losses } = await held();
      clock.stall(3000);
      expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
      expect(() => handle.assertHeld()).to.throw(HandleLostError, /its lease ran out/);
      await clock.advance(0);
      expect(losses.map(([, { reason }]) => reason)).to.deep.equal(['expired']);
    });

    it('finds held false after the machine slept, which only the wall clock shows', async () => {
      const { clock, handle } = await held();
      clock.stepWall(3000);
      expect(handle.held).to.equal(false);
    });

    it('holds on when the wall clock was set back', async () => {
      const { clock, handle, losses } = await held();
      clock.stepWall(-86_400_000);
      await clock.advance(20_000);
      expect([handle.held, losses]).to.deep.equal([true, []]);
    });

    it('does not hold again when a late extension is confirmed after the loss, but withdraws it', async () => {
      const { backend, clock, handle, losses } = await held();
      let answer: (reply: ExtendReply) => void = () => {};
      backend.onExtend = (_call, index) =>
        index === 0 ? new Promise((resolve) => (answer = resolve)) : never();
      await clock.advance(3000);
      expect(losses).to.have.length(1);
      backend.releases.splice(0);
      const call = backend.extends[0]?.call;
      if (call !== undefined) answer(backend.extended(call));
      await clock.advance(0);
      expect(handle.held).to.equal(false);
      expect(backend.givenBack).to.include(handle.id);
      expect(losses).to.have.length(1);
    });

    it('on demand rejects with the loss when the reply came after all certainty, before any timer ran', async () => {
      const { backend, clock, handle, losses } = await held();
      let answer: (reply: ExtendReply) => void = () => {};
      backend.onExtend = () => new Promise((resolve) => (answer = resolve));
      const extending = watch(clock, handle.extend());
      await clock.advance(0);
      const call = backend.extends[0]?.call;
      clock.stall(3000);
      if (call !== undefined) answer(backend.extended(call));
      // Promises alone: the timers of the clock do not run.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      expect(losses.map(([, { reason }]) => reason)).to.deep.equal(['expired']);
      await clock.advance(0);
      expect(extending.value).to.equal(undefined);
      expect(extending.error).to.equal(losses[0]?.[1]);
    });
  });

  it('ends with the release, also when an extension is under way', async () => {
    const { backend, clock, handle, losses } = await held();
    let answer: (reply: ExtendReply) => void = () => {};
    backend.onExtend = () => new Promise((resolve) => (answer = resolve));
    await clock.advance(1000);
    const released = await handle.release();
    const call = backend.extends[0]?.call;
    if (call !== undefined) answer(backend.extended(call, false));
    await clock.advance(30_000);
    expect(released).to.equal(true);
    expect(losses).to.deep.equal([]);
    expect(backend.extends).to.have.length(1);
    expect(clock.timers).to.equal(0);
  });

  it('on demand fails after release and after loss', async () => {
    const { clock, handle, semaphore } = await held({ extendEvery: 0 });
    const other = await semaphore.acquire();
    await handle.release();
    const after = watch(clock, handle.extend());
    await clock.advance(3000);
    const late = watch(clock, other.extend());
    await clock.advance(0);
    expect(after.error).to.be.instanceOf(HandleLostError).with.property('reason', 'closed');
    expect(late.error).to.be.instanceOf(HandleLostError).with.property('reason', 'expired');
  });

  it('on demand that is under way at the release is told of the end', async () => {
    const { backend, clock, handle } = await held();
    backend.onExtend = () => never();
    const extending = watch(clock, handle.extend());
    await clock.advance(10);
    await handle.release();
    await clock.advance(0);
    expect(extending.error).to.be.instanceOf(HandleLostError).with.property('reason', 'closed');
  });

  it('on demand sends nothing for what is released in the same moment', async () => {
    const { backend, clock, handle } = await held();
    const extending = watch(clock, handle.extend());
    await handle.release();
    await clock.advance(10);
    expect(extending.error).to.be.instanceOf(HandleLostError).with.property('reason', 'closed');
    expect(backend.extends).to.deep.equal([]);
  });

  it('sets no timer while nothing is held', async () => {
    const { clock, handle, semaphore } = await held();
    expect(clock.timers).to.be.at.least(1);
    await handle.release();
    await clock.advance(0);
    expect(clock.timers).to.equal(0);
    await semaphore.close();
  });
});
