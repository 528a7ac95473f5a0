import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import { spy } from 'sinon';

import type { AcquireCall, AcquireReply } from '../../../src/backends/backend.js';
import { AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { CallTimeoutError } from '../../../src/time/call-timeout.js';
import { never, watch } from '../stub-backend.js';
import {
  firstCallLate,
  gaps,
  later,
  lossesOf,
  PLAIN,
  pushing,
  stubFixture,
} from '../stub-fixture.js';

describe('waiting', () => {
  describe('by polling alone', () => {
    for (const [what, retry, expected] of [
      ['from 10 to 200 ms', PLAIN, [10, 20, 40, 80, 160, 200, 200, 200]],
      ['as asked for', { ...PLAIN, min: 100, max: 900, factor: 3 }, [100, 300, 900, 900, 900]],
      ['never over the longest', { ...PLAIN, factor: 1000 }, [10, ...Array<number>(150).fill(200)]],
    ] as const) {
      it(`tries with pauses ${what}`, async () => {
        const { backend, clock, acquire } = stubFixture({ retry });
        acquire();
        await clock.advance(expected.reduce((sum, gap) => sum + gap, 0));
        expect(gaps(backend.tries)).to.deep.equal(expected);
      });
    }

    it('draws pauses from their upper half', async () => {
      const { backend, clock, acquire } = stubFixture({ retry: {} });
      acquire(60_000);
      await clock.advance(20_000);
      const late = gaps(backend.tries).slice(6);
      expect([Math.min(...late), Math.max(...late)]).to.satisfy(
        ([least = 0, most = 0]: number[]) => least >= 100 && most <= 201,
      );
      expect(new Set(late).size).to.be.above(20);
    });

    it('keeps the process alive until its next try and its deadline, and leaves no timer', async () => {
      const { backend, clock, semaphore, acquire } = stubFixture();
      const schedule = spy(clock, 'schedule');
      const waiting = acquire(1000);
      await clock.advance(0);
      const alive = schedule.args.filter((args: readonly unknown[]) => args[2] === true);
      expect(alive.map(([, delay]) => delay)).to.include.members([10, 1000]);
      await clock.advance(1000);
      expect(waiting.at).to.equal(1000);
      backend.onAcquire = (call) => backend.verdicts(call, () => ({ kind: 'busy' }));
      expect(await semaphore.tryAcquire()).to.equal(null);
      const refused = acquire(0);
      await clock.advance(0);
      expect(refused.error).to.be.instanceOf(AcquireTimeoutError);
      expect(clock.timers).to.equal(0);
    });
  });

  describe('when the backend fails', () => {
    it('tries again inside the timeout, then rejects with the last error as cause', async () => {
      const { backend, clock, acquire } = stubFixture();
      const errors = [0, 1, 2, 3, 4, 5].map((i) => new Error(`connect ECONNREFUSED ${i}`));
      backend.onAcquire = (_call, index) => Promise.reject(errors[index] ?? new Error('more'));
      const waiting = acquire(500);
      await clock.advance(1000);
      expect(waiting.at).to.equal(500);
      const expected = { timeout: 500, waited: 500, cause: errors.at(-1), attempts: 6 };
      expect(waiting.error).to.be.instanceOf(AcquireTimeoutError).and.include(expected);
      expect(backend.ids).to.have.length(1);
    });

    it('makes one try with acquire(0) and tryAcquire, and withdraws what it may have left', async () => {
      const { backend, clock, semaphore, acquire } = stubFixture();
      const cause = new Error('connect ECONNREFUSED');
      backend.onAcquire = () => Promise.reject(cause);
      const [zero, trying] = [acquire(0), watch(clock, semaphore.tryAcquire())];
      await clock.advance(1000);
      expect(zero.error).to.be.instanceOf(AcquireTimeoutError);
      expect(zero.error).to.include({ cause, timeout: 0, attempts: 1 });
      expect(trying.error).to.be.instanceOf(BackendError).with.property('cause', cause);
      expect(backend.acquires).to.have.length(1);
      expect(backend.givenBack).to.have.members(backend.ids);
    });
  });

  for (const [ttl, limit] of [
    [1000, 1000],
    [30_000, 5000],
  ] as const) {
    it(`gives a silent call ${limit} ms with a ttl of ${ttl} ms; a single try ends then, others repeat it`, async () => {
      const { backend, clock, semaphore, acquire } = stubFixture({ ttl });
      backend.onAcquire = (call, index) => (index === 0 ? never() : backend.allGranted(call));
      const [waiting, timed, zero] = [60_000, limit - 1, 0].map((timeout) => acquire(timeout));
      const calls: Promise<unknown>[] = [semaphore.tryAcquire(), semaphore.inspect()];
      const others = calls.map((call) => watch(clock, call));
      await clock.advance(limit + 20);
      const ends = [timed, zero, ...others].map((each) => each?.at);
      expect(ends).to.deep.equal([limit - 1, limit, limit, limit]);
      for (const each of [timed, zero]) {
        expect(each?.error).to.be.instanceOf(AcquireTimeoutError);
        expect(each?.error).to.have.property('cause').that.is.instanceOf(CallTimeoutError);
      }
      for (const { error } of others) expect(error).to.be.instanceOf(BackendError);
      expect(waiting?.value?.held).to.equal(true);
      expect(waiting?.at).to.be.within(limit, limit + 20);
      const [, again] = backend.acquires.map(({ call }) => call.requests.map(({ id }) => id));
      expect([backend.acquires.length, again]).to.deep.equal([2, backend.ids.slice(0, 1)]);
    });
  }

  describe('when a reply comes late', () => {
    it('asks for nothing twice while the next call is under way', async () => {
      const { backend, clock, acquire } = stubFixture({ ttl: 10_000 });
      const answer = firstCallLate(backend, () => never());
      acquire(60_000);
      await clock.advance(5100);
      expect(backend.acquires, 'the second call is under way').to.have.length(2);
      answer((call) => backend.allQueued(call));
      await clock.advance(4000);
      expect(backend.acquires).to.have.length(2);
      await clock.advance(1100);
      expect(backend.acquires, 'tried again once that has failed').to.have.length(3);
      expect(backend.acquires[2]?.call.requests).to.have.length(1);
    });

    for (const [what, sameTicket, released, lost] of [
      ['keeps what it holds when it grants the same', true, false, false],
      ['loses what it holds when it grants another: the data was lost', false, false, true],
      ['gives back what it has released since', false, true, false],
    ] as const) {
      it(what, async () => {
        const { backend, clock, acquire } = stubFixture({ ttl: 10_000 });
        const ticket = backend.granted();
        const answer = firstCallLate(backend, (call) => backend.verdicts(call, () => ticket));
        const waiting = acquire(60_000);
        await clock.advance(5100);
        const handle = waiting.value;
        if (handle === undefined) throw new Error('not granted');
        const losses = lossesOf(handle, clock);
        if (released) await handle.release();
        backend.releases.splice(0);
        answer((call) => backend.verdicts(call, () => (sameTicket ? ticket : backend.granted())));
        await clock.advance(0);
        expect(handle.held).to.equal(!released && !lost);
        expect(losses.map(([, { reason }]) => reason)).to.deep.equal(lost ? ['missing'] : []);
        expect(backend.givenBack).to.deep.equal(sameTicket ? [] : [handle.id]);
      });
    }
  });

  it('ends for each by its own deadline, with one listener on a signal that all share', async () => {
    const { backend, clock, acquire } = stubFixture();
    const { signal } = new AbortController();
    const waits = [300, 100, 200].map((timeout) => acquire({ timeout, signal }));
    const endless = acquire({ signal });
    await clock.advance(50);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    await clock.advance(1000);
    expect(waits.map(({ at }) => at)).to.deep.equal([300, 100, 200]);
    for (const { error } of waits) expect(error).to.be.instanceOf(AcquireTimeoutError);
    expect([endless.done, getEventListeners(signal, 'abort').length]).to.deep.equal([false, 1]);
    backend.onAcquire = (call) => backend.allGranted(call);
    await clock.advance(200);
    await endless.value?.release();
    await clock.advance(0);
    expect([getEventListeners(signal, 'abort').length, clock.timers]).to.deep.equal([0, 0]);
  });

  describe('that is granted', () => {
    it('with the reply to another call is not asked for again, and only if it fits', async () => {
      const { backend, clock, acquire } = stubFixture();
      backend.onAcquire = (call, index) =>
        index === 0 ? backend.allGranted(call) : backend.allQueued(call);
      const holders = [acquire(), acquire()];
      await clock.advance(0);
      const waiting = acquire(60_000);
      await clock.advance(0);
      const id = backend.ids[2] ?? '';
      let slots = [3, 5];
      backend.onRelease = (call) => {
        const grant = { id, fencingToken: 9, slots, expiresAt: backend.serverTime + 2000 };
        return { ...backend.released(call), grants: [grant] };
      };
      await holders[0]?.value?.release();
      await clock.advance(0);
      expect(waiting.done, 'two slots for one permit').to.equal(false);
      const calls = backend.acquires.length;
      slots = [3];
      await holders[1]?.value?.release();
      await clock.advance(0);
      expect(waiting.value).to.include({ id, fencingToken: 9, slot: 3, held: true });
      expect(backend.acquires).to.have.length(calls);
    });

    it('by a push whose time is over, or before the clock of the server is known, asks again', async () => {
      const { backend, clock, acquire } = stubFixture({}, pushing());
      backend.onAcquire = () => Promise.reject(new Error('the connection was reset'));
      const waiting = acquire();
      await clock.advance(0);
      backend.setHealth(true);
      const [id = ''] = backend.ids;
      backend.push(id);
      await clock.advance(0);
      expect([waiting.done, backend.givenBack]).to.deep.equal([false, []]);
      backend.onAcquire = (call) => backend.allQueued(call);
      await clock.advance(200);
      backend.onAcquire = (call) => backend.allGranted(call);
      backend.push(id, 0);
      await clock.advance(0);
      expect(waiting.done).to.equal(false);
      await clock.advance(200);
      expect(waiting.value?.held).to.equal(true);
    });

    it('by a push asks for it again where pushes are confirmed, behind a call that is under way', async () => {
      const backend = Object.assign(pushing(), { confirmsPushedGrants: true });
      const { clock, acquire } = stubFixture({}, backend);
      const waiting = acquire();
      await clock.advance(0);
      backend.setHealth(true);
      const answer = later<AcquireReply>();
      backend.onAcquire = () => answer.promise;
      await clock.advance(0);
      const [id = ''] = backend.ids;
      const before = backend.acquires.length;
      backend.push(id);
      await clock.advance(0);
      expect(backend.acquires, 'a call is under way').to.have.length(before);
      backend.onAcquire = (call) => backend.allQueued(call);
      answer.resolve(backend.allQueued(backend.acquires.at(-1)?.call as AcquireCall));
      await clock.advance(0);
      expect(backend.acquires).to.have.length(before + 1);
      expect(waiting.done, 'a push grants nothing').to.equal(false);
      backend.onAcquire = (call) => backend.allGranted(call);
      backend.push(id);
      await clock.advance(0);
      expect(waiting.value?.held).to.equal(true);
      expect(backend.givenBack).to.deep.equal([]);
    });
  });
});
