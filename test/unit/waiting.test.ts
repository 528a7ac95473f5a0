import { expect } from 'chai';
import { getEventListeners } from 'node:events';

import type { AcquireCall, AcquireReply } from '../../src/backend.js';
import {
  AcquireTimeoutError,
  BackendError,
  ClosedError,
  type HandleLostError,
} from '../../src/errors.js';
import type { Handle } from '../../src/handle.js';
import type { AcquireOptions, SemaphoreOptions } from '../../src/options.js';
import { Semaphore } from '../../src/semaphore.js';
import { never, StubBackend, watch } from './stub-backend.js';

const PLAIN = { min: 10, max: 200, factor: 2, jitter: false };

describe('waiting', () => {
  function bench(pushes = false, options: Partial<SemaphoreOptions> = {}) {
    const backend = new StubBackend({ pushes });
    const { clock } = backend;
    const semaphore = new Semaphore(backend, 'jobs', { limit: 4, retry: PLAIN, ...options });
    const acquire = (given?: number | AcquireOptions) => watch(clock, semaphore.acquire(given));
    return { backend, clock, semaphore, acquire };
  }

  function gaps(times: readonly number[]): number[] {
    return times.slice(1).map((time, i) => time - (times[i] ?? NaN));
  }

  describe('by polling alone', () => {
    it('tries with pauses from 10 to 200 ms', async () => {
      const { backend, clock, acquire } = bench();
      acquire(5000);
      await clock.advance(1200);
      expect(gaps(backend.tries)).to.deep.equal([10, 20, 40, 80, 160, 200, 200, 200, 200]);
    });

    it('tries with pauses of its own as told', async () => {
      const { backend, clock, acquire } = bench(false, {
        retry: { min: 100, max: 900, factor: 3, jitter: false },
      });
      acquire(5000);
      await clock.advance(4500);
      expect(gaps(backend.tries)).to.deep.equal([100, 300, 900, 900, 900, 900]);
    });

    it('draws pauses from their upper half', async () => {
      const { backend, clock, acquire } = bench(false, { retry: {} });
      acquire(60_000);
      await clock.advance(20_000);
      const late = gaps(backend.tries).slice(6);
      expect(late.length).to.be.above(90);
      expect(Math.min(...late)).to.be.at.least(100);
      expect(Math.max(...late)).to.be.at.most(201);
      expect(new Set(late).size).to.be.above(20);
    });

    it('names no cause when its time is over just after a try, whether or not there is a queue', async () => {
      for (const arrival of [1, undefined]) {
        const { backend, clock, acquire } = bench();
        backend.onAcquire = (call, index) =>
          index === 0 ? backend.verdicts(call, () => ({ kind: 'queued', arrival })) : never();
        const waiting = acquire(30);
        await clock.advance(30);
        expect(backend.acquires).to.have.length(2);
        expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
        expect(waiting.error).to.not.have.property('cause');
      }
    });

    it('starts with short pauses again after everybody got a permit', async () => {
      const { backend, clock, acquire } = bench();
      acquire(5000);
      await clock.advance(1000);
      backend.onAcquire = (call) => backend.allGranted(call);
      await clock.advance(200);
      backend.onAcquire = (call) => backend.allQueued(call);
      backend.acquires.splice(0);
      acquire(5000);
      await clock.advance(70);
      expect(gaps(backend.tries)).to.deep.equal([10, 20, 40]);
    });

    it('starts with short pauses again after everybody gave up', async () => {
      const { backend, clock, acquire } = bench();
      acquire(1000);
      await clock.advance(1000);
      backend.acquires.splice(0);
      acquire(5000);
      await clock.advance(70);
      expect(gaps(backend.tries)).to.deep.equal([10, 20, 40]);
    });

    it('asks for all who wait with one call, each with the place that it was told', async () => {
      const { backend, clock, acquire } = bench();
      for (let i = 0; i < 5; i++) acquire(5000);
      await clock.advance(10);
      const [first, second] = backend.acquires.map(({ call }) => call);
      expect(first?.requests.map(({ arrival }) => arrival)).to.deep.equal(Array(5).fill(undefined));
      expect(second?.requests.map(({ arrival }) => arrival)).to.deep.equal([1, 2, 3, 4, 5]);
      expect(second?.requests.map(({ id }) => id)).to.deep.equal(
        first?.requests.map(({ id }) => id),
      );
      expect(backend.acquires).to.have.length(2);
    });

    it('sends a new request at once, whatever the others wait for', async () => {
      const { backend, clock, acquire } = bench();
      acquire(5000);
      await clock.advance(1150);
      const before = backend.acquires.length;
      acquire(5000);
      await clock.advance(0);
      expect(backend.acquires).to.have.length(before + 1);
    });

    it('keeps a wait of one and a process of many alike: no more calls for more who wait', async () => {
      const [one, many] = [bench(), bench()];
      one.acquire(5000);
      for (let i = 0; i < 100; i++) many.acquire(5000);
      await one.clock.advance(4000);
      await many.clock.advance(4000);
      expect(many.backend.acquires.length).to.be.at.most(one.backend.acquires.length);
    });
  });

  describe('with pushes', () => {
    it('tries at once after the subscription, and then every 1.5 s only', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(60_000);
      await clock.advance(25);
      const before = backend.acquires.length;
      backend.setHealth(true);
      await clock.advance(0);
      expect(backend.tries.slice(before)).to.deep.equal([25]);
      await clock.advance(6100);
      expect(gaps(backend.tries.slice(before))).to.deep.equal([1500, 1500, 1500, 1500]);
    });

    it('tries fast while the subscription is not there', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(60_000);
      await clock.advance(310);
      expect(gaps(backend.tries)).to.deep.equal([10, 20, 40, 80, 160]);
    });

    it('tries fast again when the subscription breaks, at once when it is back', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(60_000);
      await clock.advance(0);
      backend.setHealth(true);
      await clock.advance(5000);
      backend.acquires.splice(0);
      backend.setHealth(false);
      await clock.advance(150);
      expect(backend.acquires.length).to.be.within(3, 5);
      backend.acquires.splice(0);
      backend.setHealth(true);
      await clock.advance(0);
      expect(backend.acquires).to.have.length(1);
      await clock.advance(1400);
      expect(backend.acquires).to.have.length(1);
    });

    it('looks again when the next ticket expires, for a dead holder wakes nobody', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(60_000);
      await clock.advance(0);
      const expiry = backend.serverTime + 400;
      backend.onAcquire = (call) =>
        backend.allQueued(call, backend.serverTime < expiry ? expiry : expiry + 30_000);
      backend.setHealth(true);
      await clock.advance(0);
      backend.acquires.splice(0);
      await clock.advance(399);
      expect(backend.tries).to.deep.equal([]);
      await clock.advance(20);
      expect(backend.tries).to.have.length(1);
    });

    it('tries once more after a try that was under way when the subscription came', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(60_000);
      await clock.advance(0);
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = () => reply;
      await clock.advance(10);
      const call = backend.acquires[1]?.call;
      // Executed before the subscription: a grant since then was pushed to nobody.
      backend.onAcquire = (next) => backend.allQueued(next);
      backend.setHealth(true);
      await clock.advance(5);
      if (call !== undefined) answer(backend.allQueued(call));
      await clock.advance(30);
      expect(backend.acquires).to.have.length(3);
    });

    it('takes a pushed grant at once, without another call', async () => {
      const { backend, clock, acquire } = bench(true);
      const waiting = acquire(60_000);
      await clock.advance(0);
      backend.setHealth(true);
      await clock.advance(700);
      const before = backend.acquires.length;
      backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
      await clock.advance(0);
      expect(waiting.at).to.equal(700);
      expect(waiting.value?.held).to.equal(true);
      expect(waiting.value?.expiresIn).to.be.within(4900, 5000);
      expect(backend.acquires).to.have.length(before);
    });

    for (const extendEvery of [10_000, 0]) {
      it(`brings a pushed grant to its full ttl soon, also with extendEvery ${extendEvery}`, async () => {
        const { backend, clock, acquire } = bench(true, { ttl: 30_000, extendEvery });
        const waiting = acquire(60_000);
        await clock.advance(0);
        backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
        await clock.advance(60);
        expect(backend.extends.map(({ at }) => at)).to.deep.equal([50]);
        expect(waiting.value?.expiresIn).to.be.above(29_000);
      });
    }

    it('needs no third call for a short task', async () => {
      const { backend, clock, acquire } = bench(true, { ttl: 30_000 });
      const waiting = acquire(60_000);
      await clock.advance(0);
      backend.push(backend.acquires[0]?.call.requests[0]?.id ?? '');
      await clock.advance(49);
      await waiting.value?.release();
      expect([
        backend.acquires.length,
        backend.extends.length,
        backend.releases.length,
      ]).to.deep.equal([Math.max(1, backend.acquires.length), 0, 1]);
    });

    it('does not hold a pushed grant whose claim time is over, and asks again', async () => {
      const { backend, clock, acquire } = bench(true);
      const waiting = acquire(60_000);
      await clock.advance(0);
      backend.setHealth(true);
      await clock.advance(10);
      const first = backend.acquires[0]?.call.requests[0]?.id ?? '';
      backend.acquires.splice(0);
      backend.push(first, 0);
      await clock.advance(50);
      expect(waiting.done).to.equal(false);
      expect(backend.acquires.length).to.be.at.least(1);
    });

    it('takes no notice of a grant for nobody', async () => {
      const { backend, clock, acquire } = bench(true);
      const waiting = acquire(60_000);
      await clock.advance(0);
      backend.push('somebody.1');
      backend.push('');
      await clock.advance(0);
      expect(waiting.done).to.equal(false);
    });

    it('keeps one subscription for all who wait, and ends it when nobody has waited for a while', async () => {
      const { backend, clock, semaphore, acquire } = bench(true);
      const other = new Semaphore(backend, 'other', { limit: 1, retry: PLAIN });
      acquire(100);
      watch(clock, other.acquire(100));
      acquire(200);
      await clock.advance(0);
      expect(backend.listeners).to.have.length(1);
      await clock.advance(60_000);
      expect(backend.listeners).to.have.length(0);
      expect(clock.timers).to.equal(0);
      acquire(100);
      await clock.advance(0);
      expect(backend.listeners).to.have.length(1);
      await semaphore.close();
      expect(backend.listeners).to.have.length(0);
    });

    it('keeps a subscription that works for those who wait soon, but not for long', async () => {
      const { backend, clock, acquire } = bench(true);
      acquire(100);
      await clock.advance(0);
      backend.setHealth(true);
      await clock.advance(5000);
      acquire(100);
      await clock.advance(5000);
      expect([backend.listeners.length, backend.closedListeners]).to.deep.equal([1, 0]);
      await clock.advance(60_000);
      expect([backend.listeners.length, backend.closedListeners]).to.deep.equal([0, 1]);
      expect(clock.timers).to.equal(0);
    });

    it('waits on by polling when subscribing throws', async () => {
      const { backend, clock, acquire } = bench(true);
      backend.listen = () => {
        throw new Error('no right to subscribe');
      };
      const waiting = acquire(5000);
      await clock.advance(100);
      expect(backend.acquires.length).to.be.above(3);
      backend.onAcquire = (call) => backend.allGranted(call);
      await clock.advance(300);
      expect(waiting.value?.held).to.equal(true);
    });
  });

  describe('when the backend fails', () => {
    it('tries on inside the timeout, and then rejects with the last error as cause', async () => {
      const { backend, clock, acquire } = bench();
      const errors: Error[] = [];
      backend.onAcquire = () => {
        errors.push(new Error(`connect ECONNREFUSED ${errors.length}`));
        throw errors.at(-1) ?? new Error('none');
      };
      const waiting = acquire(500);
      await clock.advance(499);
      expect(waiting.done).to.equal(false);
      await clock.advance(1);
      expect(waiting.at).to.equal(500);
      expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
      expect(waiting.error).to.include({ timeout: 500, waited: 500, cause: errors.at(-1) });
      expect(waiting.error).to.include({ attempts: errors.length });
      expect(gaps(backend.tries)).to.deep.equal([10, 20, 40, 80, 160]);
    });

    it('comes through when the backend is back', async () => {
      const { backend, clock, acquire } = bench();
      backend.onAcquire = (call, index) => {
        if (index < 4) throw new Error('connect ECONNREFUSED');
        return backend.allGranted(call);
      };
      const waiting = acquire(5000);
      await clock.advance(500);
      expect(waiting.value?.held).to.equal(true);
      const [first] = backend.acquires;
      for (const { call } of backend.acquires) {
        expect(call.requests[0]?.id).to.equal(first?.call.requests[0]?.id);
      }
    });

    it('tells a refusal that stays at once, with its cause, without another try', async () => {
      for (const timeout of [5000, undefined, 0]) {
        const { backend, clock, acquire } = bench();
        const cause = new Error(
          'WRONGTYPE Operation against a key holding the wrong kind of value',
        );
        backend.isRetryable = () => false;
        backend.onAcquire = () => Promise.reject(cause);
        const waiting = acquire(timeout);
        await clock.advance(0);
        expect(waiting.error, `acquire(${timeout})`).to.be.instanceOf(BackendError);
        expect(waiting.error).to.include({ cause });
        await clock.advance(1000);
        expect(backend.acquires).to.have.length(1);
      }
    });

    it('one try only with timeout 0, whose error is the cause of the timeout', async () => {
      const { backend, clock, acquire } = bench();
      const cause = new Error('connect ECONNREFUSED');
      backend.onAcquire = () => Promise.reject(cause);
      const waiting = acquire(0);
      await clock.advance(1000);
      expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
      expect(waiting.error).to.include({ cause, timeout: 0, attempts: 1 });
      expect(backend.acquires).to.have.length(1);
    });

    it('one try only with tryAcquire, whose error is told', async () => {
      const { backend, clock, semaphore } = bench();
      const cause = new Error('connect ECONNREFUSED');
      backend.onAcquire = () => Promise.reject(cause);
      const trying = watch(clock, semaphore.tryAcquire());
      await clock.advance(1000);
      expect(trying.error).to.be.instanceOf(BackendError);
      expect(trying.error).to.include({ cause });
      expect(backend.acquires).to.have.length(1);
    });

    it('withdraws what a failed try may have left', async () => {
      const { backend, clock, semaphore } = bench();
      backend.onAcquire = () => Promise.reject(new Error('read ECONNRESET'));
      watch(clock, semaphore.tryAcquire());
      await clock.advance(0);
      expect(backend.givenBack).to.deep.equal([backend.acquires[0]?.call.requests[0]?.id]);
    });
  });

  describe('when the backend is silent', () => {
    it('rejects at its deadline, not later', async () => {
      for (const timeout of [1, 50, 500, 7000]) {
        const { backend, clock, acquire } = bench();
        backend.onAcquire = () => never();
        const waiting = acquire(timeout);
        await clock.advance(timeout);
        expect(waiting.at).to.equal(timeout);
        expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
      }
    });

    it('tries again after min(ttl, 5000) ms, with the same id', async () => {
      for (const [ttl, limit] of [
        [1000, 1000],
        [30_000, 5000],
      ] as const) {
        const { backend, clock, acquire } = bench(false, { ttl });
        backend.onAcquire = (call, index) => (index === 0 ? never() : backend.allGranted(call));
        const waiting = acquire(60_000);
        await clock.advance(limit - 1);
        expect(backend.acquires).to.have.length(1);
        await clock.advance(20);
        expect(backend.acquires).to.have.length(2);
        expect(backend.acquires[1]?.call.requests[0]?.id).to.equal(
          backend.acquires[0]?.call.requests[0]?.id,
        );
        expect(waiting.value?.held).to.equal(true);
      }
    });

    it('acquire(0) and tryAcquire end after min(ttl, 5000) ms', async () => {
      const { backend, clock, semaphore, acquire } = bench(false, { ttl: 1000 });
      backend.onAcquire = () => never();
      const [zero, trying] = [acquire(0), watch(clock, semaphore.tryAcquire())];
      await clock.advance(999);
      expect([zero.done, trying.done]).to.deep.equal([false, false]);
      await clock.advance(1);
      expect(zero.error).to.be.instanceOf(AcquireTimeoutError);
      expect(trying.error).to.be.instanceOf(BackendError);
    });

    it('inspect ends, too', async () => {
      const { clock, semaphore } = bench();
      const inspecting = watch(clock, semaphore.inspect());
      await clock.advance(60_000);
      expect(inspecting.error).to.be.instanceOf(BackendError);
    });

    it('takes a grant that comes late, when nobody knows of another', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = (call, index) => (index === 0 ? reply : backend.allQueued(call));
      backend.onExtend = () => never();
      const waiting = acquire(60_000);
      await clock.advance(6000);
      const first = backend.acquires[0]?.call;
      if (first !== undefined) answer(backend.allGranted(first));
      await clock.advance(0);
      // Certain only from the moment at which that call was sent.
      expect(waiting.value?.expiresIn).to.be.within(1, 4000);
    });

    it('gives back a grant that comes after the wait was over', async () => {
      const { backend, clock, acquire } = bench();
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = () => reply;
      const waiting = acquire(500);
      await clock.advance(500);
      expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
      const call = backend.acquires[0]?.call;
      backend.releases.splice(0);
      if (call !== undefined) answer(backend.allGranted(call));
      await clock.advance(0);
      expect(backend.givenBack).to.deep.equal([call?.requests[0]?.id]);
    });

    it('does not give back what it holds when a second reply grants the same', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      const [reply, answer] = later<AcquireReply>();
      const ticket = backend.granted();
      const granted = (call: AcquireCall): AcquireReply => backend.verdicts(call, () => ticket);
      backend.onAcquire = (call, index) => (index === 0 ? reply : granted(call));
      const waiting = acquire(60_000);
      await clock.advance(5100);
      expect(waiting.value?.held).to.equal(true);
      const call = backend.acquires[0]?.call;
      if (call !== undefined) answer(granted(call));
      await clock.advance(0);
      expect(backend.givenBack).to.deep.equal([]);
      expect(waiting.value?.held).to.equal(true);
    });

    it('loses what it holds when a late call was granted anew: the data was lost in between', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = (call, index) => (index === 0 ? reply : backend.allGranted(call));
      const waiting = acquire(60_000);
      await clock.advance(5100);
      const lost = untilLost(waiting.value);
      const call = backend.acquires[0]?.call;
      if (call !== undefined) answer(backend.allGranted(call));
      await clock.advance(0);
      expect((await lost).reason).to.equal('missing');
      expect(waiting.value?.held).to.equal(false);
      expect(backend.givenBack).to.deep.equal([call?.requests[0]?.id]);
    });

    it('loses what it holds when a push grants it anew, and not when it tells the same again', async () => {
      const { backend, clock, acquire } = bench(true, { ttl: 10_000 });
      const first = acquire(60_000);
      await clock.advance(0);
      backend.setHealth(true);
      await clock.advance(0);
      const id = backend.acquires[0]?.call.requests[0]?.id ?? '';
      backend.push(id);
      await clock.advance(0);
      expect(first.value?.held).to.equal(true);
      backend.pushAgain();
      await clock.advance(0);
      expect(first.value?.held).to.equal(true);
      expect(backend.givenBack).to.deep.equal([]);
      const lost = untilLost(first.value);
      backend.onExtend = (call) => backend.extended(call, false);
      backend.push(id);
      await clock.advance(0);
      expect((await lost).reason).to.equal('missing');
      expect(backend.givenBack).to.deep.equal([id]);
    });

    it('gives back a second grant of what it has released since', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = (call, index) => (index === 0 ? reply : backend.allGranted(call));
      const waiting = acquire(60_000);
      await clock.advance(5100);
      await waiting.value?.release();
      backend.releases.splice(0);
      const call = backend.acquires[0]?.call;
      if (call !== undefined) answer(backend.allGranted(call));
      await clock.advance(0);
      expect(backend.givenBack).to.deep.equal([call?.requests[0]?.id]);
    });

    it('sends no id twice in one call, however many replies come late', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 200 });
      const answers: ((reply: AcquireReply) => void)[] = [];
      backend.onAcquire = () => {
        const [reply, answer] = later<AcquireReply>();
        answers.push(answer);
        return reply;
      };
      acquire(60_000);
      await clock.advance(450);
      expect(backend.acquires).to.have.length(3);
      const call = backend.acquires[0]?.call;
      // The third call is under way; both that were given up on are answered now, one after the other.
      for (const answer of answers.slice(0, 2)) {
        if (call !== undefined) answer(backend.allQueued(call));
        await clock.advance(60);
      }
      await clock.advance(500);
      expect(backend.acquires.length).to.be.above(3);
      for (const { call: sent } of backend.acquires) expect(sent.requests).to.have.length(1);
    });
  });

  describe('tells the backend after which of its times a try must not act', () => {
    it('nothing while that clock is not known', async () => {
      const { backend, clock, acquire } = bench();
      acquire(500);
      await clock.advance(0);
      expect(backend.acquires[0]?.call.notAfter).to.equal(undefined);
    });

    it('its deadline, later', async () => {
      const { backend, clock, acquire } = bench();
      acquire(500);
      await clock.advance(100);
      for (const { at, call } of backend.acquires.slice(1)) {
        const left = (call.notAfter ?? NaN) - (at + backend.serverTime - clock.monotonic());
        expect(left)
          .to.be.at.least(500 - at)
          .and.at.most(500 - at + 50);
      }
    });

    it('the end of its patience with that call, when the wait is longer', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 1000 });
      acquire();
      await clock.advance(100);
      for (const { at, call } of backend.acquires.slice(1)) {
        const left = (call.notAfter ?? NaN) - (at + backend.serverTime - clock.monotonic());
        expect(left).to.be.within(1000, 1050);
      }
    });

    it('and asks again when a try came too late', async () => {
      const { backend, clock, acquire } = bench();
      backend.onAcquire = (call, index) => {
        if (index > 0) return backend.allGranted(call);
        return backend.verdicts(call, () => ({ kind: 'late' }));
      };
      const waiting = acquire(5000);
      await clock.advance(20);
      expect(waiting.value?.held).to.equal(true);
    });
  });

  describe('ends', () => {
    it('with the reason of its signal, at once, and withdraws its request', async () => {
      const { backend, clock, acquire } = bench();
      const controller = new AbortController();
      const waiting = acquire({ signal: controller.signal });
      await clock.advance(70);
      const reason = { not: 'even an error' };
      controller.abort(reason);
      await clock.advance(0);
      expect(waiting.at).to.equal(70);
      expect(waiting.error).to.equal(reason);
      expect(backend.givenBack).to.deep.equal([backend.acquires[0]?.call.requests[0]?.id]);
      await clock.advance(1000);
      expect(clock.timers).to.equal(0);
    });

    it('before it began when its signal has been aborted', async () => {
      const { backend, clock, acquire } = bench();
      const reason = new Error('before');
      const waiting = acquire({ signal: AbortSignal.abort(reason) });
      await clock.advance(0);
      expect(waiting.error).to.equal(reason);
      expect(backend.acquires).to.deep.equal([]);
    });

    it('without withdrawing what was never sent', async () => {
      const { backend, clock, acquire } = bench();
      const controller = new AbortController();
      acquire({ signal: controller.signal });
      controller.abort();
      await clock.advance(1000);
      expect([backend.acquires, backend.releases]).to.deep.equal([[], []]);
    });

    it('when the semaphore is closed, and withdraws its request', async () => {
      const { backend, clock, semaphore, acquire } = bench();
      const waiting = acquire();
      await clock.advance(30);
      await semaphore.close();
      expect(waiting.error).to.be.instanceOf(ClosedError);
      expect(backend.givenBack).to.deep.equal([backend.acquires[0]?.call.requests[0]?.id]);
      expect(clock.timers).to.equal(0);
    });

    it('at its deadline while a grant crosses on the wire, which is given back', async () => {
      const { backend, clock, acquire } = bench(true);
      const waiting = acquire(500);
      await clock.advance(500);
      expect(waiting.error).to.be.instanceOf(AcquireTimeoutError);
      const id = backend.acquires[0]?.call.requests[0]?.id ?? '';
      backend.push(id);
      await clock.advance(0);
      expect(backend.givenBack).to.include(id);
    });

    it('and goes on withdrawing its request until that is confirmed', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      backend.onRelease = () => Promise.reject(new Error('connect ECONNREFUSED'));
      acquire(100);
      await clock.advance(9000);
      const before = backend.releases.length;
      backend.onRelease = (call) => backend.released(call);
      await clock.advance(500);
      expect(backend.releases.length).to.be.above(before);
      await clock.advance(60_000);
      expect(clock.timers).to.equal(0);
    });

    it('leaving no timer and no listener on its signal', async () => {
      const { backend, clock, acquire } = bench();
      const { signal } = new AbortController();
      for (let i = 0; i < 50; i++) acquire({ timeout: 100, signal });
      await clock.advance(100);
      backend.onAcquire = (call) => backend.allGranted(call);
      const last = acquire({ timeout: 100, signal });
      await clock.advance(0);
      await last.value?.release();
      await clock.advance(10_000);
      expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
      expect(clock.timers).to.equal(0);
    });
  });

  describe('that is granted', () => {
    it('counts its lease from the moment at which the call was sent', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 10_000 });
      const [reply, answer] = later<AcquireReply>();
      backend.onAcquire = () => reply;
      const waiting = acquire(60_000);
      await clock.advance(3000);
      const call = backend.acquires[0]?.call;
      if (call !== undefined) answer(backend.allGranted(call));
      await clock.advance(0);
      expect(waiting.value?.expiresIn).to.be.at.most(7000 - 102);
    });

    it('after its lease had run out is asked for again', async () => {
      const { backend, clock, acquire } = bench(false, { ttl: 1000 });
      backend.onAcquire = (call, index) => {
        if (index === 0) clock.stall(1000);
        return backend.allGranted(call);
      };
      const waiting = acquire(60_000);
      await clock.advance(0);
      await clock.advance(50);
      expect(backend.acquires.length).to.be.at.least(2);
      expect(waiting.value?.expiresIn).to.be.above(900);
    });

    it('with the reply to another call of the same client is not asked for again', async () => {
      const { backend, clock, semaphore, acquire } = bench();
      backend.onAcquire = (call, index) =>
        index === 0 ? backend.allGranted(call) : backend.allQueued(call);
      const holding = acquire();
      await clock.advance(0);
      const waiting = acquire(60_000);
      await clock.advance(0);
      const id = backend.acquires[1]?.call.requests[0]?.id ?? '';
      backend.onRelease = (call) => {
        const expiresAt = backend.serverTime + 2000;
        return {
          ...backend.released(call),
          grants: [{ id, fencingToken: 9, slots: [0], expiresAt }],
        };
      };
      const calls = backend.acquires.length;
      await holding.value?.release();
      await clock.advance(0);
      expect(waiting.value).to.include({ id, fencingToken: 9 });
      expect(backend.acquires).to.have.length(calls);
      await semaphore.close();
    });

    it('has what the backend said: id, slots, token', async () => {
      const { backend, clock, acquire } = bench();
      backend.onAcquire = (call) =>
        backend.verdicts(call, () => ({ kind: 'granted', fencingToken: 77, slots: [3, 5] }));
      const waiting = acquire({ permits: 2 });
      await clock.advance(0);
      const handle: Handle | undefined = waiting.value;
      expect(handle).to.include({ fencingToken: 77, slot: 3, name: 'jobs' });
      expect(handle?.slots).to.deep.equal([3, 5]);
      expect(handle?.id).to.equal(backend.acquires[0]?.call.requests[0]?.id);
    });
  });

  function untilLost(handle: Handle | undefined): Promise<HandleLostError> {
    return new Promise((resolve) => handle?.on('lost', resolve));
  }

  function later<T>(): [Promise<T>, (value: T) => void] {
    let answer: (value: T) => void = () => {};
    const reply = new Promise<T>((resolve) => (answer = resolve));
    return [reply, answer];
  }
});
