import { expect } from 'chai';
import { getEventListeners } from 'node:events';

import { AcquireTimeoutError, BackendError, HandleLostError } from '../../../src/index.js';
import { CallTimeoutError } from '../../../src/time/call-timeout.js';
import { never, watch } from '../stub-backend.js';
import { gaps, later, PLAIN, pushing, stubFixture } from '../stub-fixture.js';

describe('waiting', () => {
  it('polls with pauses from 10 to 200 ms or as asked for, and draws them from their upper half', async () => {
    for (const [retry, expected] of [
      [PLAIN, [10, 20, 40, 80, 160, 200, 200, 200]],
      [{ ...PLAIN, min: 100, max: 900, factor: 3 }, [100, 300, 900, 900, 900]],
      [{ ...PLAIN, max: 20, factor: 1000 }, [10, ...Array<number>(150).fill(20)]],
    ] as const) {
      const { backend, clock, acquire } = stubFixture({ retry });
      acquire();
      await clock.advance(expected.reduce((sum, gap) => sum + gap, 0));
      expect(gaps(backend.tries)).to.deep.equal(expected);
    }
    const { backend, clock, acquire } = stubFixture({ retry: {} });
    acquire();
    await clock.advance(20_000);
    const late = gaps(backend.tries).slice(6);
    // Up to a quarter earlier where another timer of the semaphore rings.
    for (const gap of late) expect(gap).to.be.within(75, 201);
    expect(new Set(late).size).to.be.above(20);
  });

  it('tries again when calls fail, then rejects with the last error; a single try is made once, and withdrawn', async () => {
    const { backend, clock, semaphore, acquire } = stubFixture();
    const errors = [0, 1, 2, 3, 4, 5].map((i) => new Error(`connect ECONNREFUSED ${i}`));
    const cause = new Error('more');
    backend.onAcquire = (_call, index) => Promise.reject(errors[index] ?? cause);
    const waiting = acquire(500);
    await clock.advance(1000);
    expect(waiting.at).to.equal(500);
    const expected = { timeout: 500, waited: 500, cause: errors.at(-1), attempts: 6 };
    expect(waiting.error).to.be.instanceOf(AcquireTimeoutError).and.include(expected);
    expect(backend.ids).to.have.length(1);
    const [zero, trying] = [acquire(0), watch(clock, semaphore.tryAcquire())];
    await clock.advance(1000);
    expect(zero.error).to.be.instanceOf(AcquireTimeoutError);
    expect(zero.error).to.include({ cause, timeout: 0, attempts: 1 });
    expect(trying.error).to.be.instanceOf(BackendError).with.property('cause', cause);
    expect(backend.acquires).to.have.length(6 + 1);
    expect(backend.givenBack).to.have.members(backend.ids);
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

  it('asks for nothing twice when a reply comes late, while the next call is under way', async () => {
    const { backend, clock, acquire } = stubFixture({ ttl: 10_000 });
    const gate = later<void>();
    backend.onAcquire = (call, index) =>
      index === 0 ? gate.promise.then(() => backend.allQueued(call)) : never();
    acquire(60_000);
    await clock.advance(5100);
    expect(backend.acquires, 'the second call is under way').to.have.length(2);
    gate.resolve();
    await clock.advance(4000);
    expect(backend.acquires).to.have.length(2);
    await clock.advance(1100);
    expect(backend.acquires, 'tried again once that has failed').to.have.length(3);
    expect(backend.acquires[2]?.call.requests).to.have.length(1);
  });

  // The planted bugs late-grant-kept and late-call-takes-back are of the same reply.
  it('loses what it holds when a late reply grants another ticket: the data was lost', async () => {
    const { backend, clock, acquire } = stubFixture({ ttl: 10_000 });
    const gate = later<void>();
    backend.onAcquire = async (call, index) => {
      if (index === 0) await gate.promise;
      return backend.allGranted(call);
    };
    const waiting = acquire(60_000);
    await clock.advance(5100);
    const { value: handle } = waiting;
    expect(handle?.held).to.equal(true);
    gate.resolve();
    await clock.advance(0);
    expect(handle?.signal.reason)
      .to.be.instanceOf(HandleLostError)
      .and.include({ reason: 'missing' });
    expect(backend.givenBack).to.deep.equal([handle?.id]);
  });

  it('ends for each by its own deadline, with one listener on a signal that all share, and leaves no timer', async () => {
    const { backend, clock, semaphore, acquire, asked } = stubFixture();
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
    backend.onAcquire = (call) => backend.verdicts(call, () => ({ kind: 'busy' }));
    expect(await semaphore.tryAcquire()).to.equal(null);
    expect((await asked(0)).error).to.be.instanceOf(AcquireTimeoutError);
    expect(clock.timers).to.equal(0);
  });

  it('takes a grant with the reply to another call without another, and only if it fits', async () => {
    const { backend, clock, asked } = stubFixture();
    backend.onAcquire = (call, index) =>
      index < 2 ? backend.allGranted(call) : backend.allQueued(call);
    const holders = [await asked(), await asked()];
    const waiting = await asked(60_000);
    const id = backend.ids[2] ?? '';
    let slots = [3, 5];
    backend.onRelease = (call) => {
      const reply = backend.released(call);
      const grant = { id, fencingToken: 9, slots, expiresAt: reply.serverTime + 2000 };
      return { ...reply, grants: [grant] };
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

  it('asks again after a push whose time is over, or that comes before the clock of the server is known', async () => {
    const { backend, clock, asked } = stubFixture({}, pushing());
    backend.onAcquire = () => Promise.reject(new Error('the connection was reset'));
    const waiting = await asked();
    void backend.setHealth(true);
    const [id = ''] = backend.ids;
    await backend.push(id);
    expect([waiting.done, backend.givenBack]).to.deep.equal([false, []]);
    backend.onAcquire = (call) => backend.allQueued(call);
    await clock.advance(200);
    backend.onAcquire = (call) => backend.allGranted(call);
    await backend.push(id, 0);
    expect(waiting.done).to.equal(false);
    await clock.advance(200);
    expect(waiting.value?.held).to.equal(true);
  });

  it('asks again after a push where pushes are confirmed, a pause behind a call that is under way', async () => {
    const backend = Object.assign(pushing(), { confirmsPushedGrants: true });
    const { clock, asked } = stubFixture({}, backend);
    const waiting = await asked();
    const gate = later<void>();
    backend.onAcquire = (call) => gate.promise.then(() => backend.allQueued(call));
    await backend.setHealth(true);
    await clock.advance(1);
    const [id = ''] = backend.ids;
    const before = backend.acquires.length;
    await backend.push(id);
    expect(backend.acquires, 'a call is under way').to.have.length(before);
    gate.resolve();
    await clock.advance(2 * PLAIN.min);
    expect(backend.acquires).to.have.length(before + 1);
    expect(waiting.done, 'a push grants nothing').to.equal(false);
    backend.onAcquire = (call) => backend.allGranted(call);
    await backend.push(id);
    expect(waiting.value?.held).to.equal(true);
    expect(backend.givenBack).to.deep.equal([]);
  });
});
