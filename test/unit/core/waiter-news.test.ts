import { expect } from 'chai';
import { spy, stub } from 'sinon';

import { SemaphoreLink } from '../../../src/core/semaphore-link.js';
import type { Handle, SemaphoreWarning, WaitingReport } from '../../../src/index.js';
import { acquireAll, AcquireTimeoutError, KeyedMutex } from '../../../src/index.js';
import { KeyedSemaphore, ManualClock, MemoryBackend, Semaphore } from '../../../src/index.js';
import { collectUntil } from '../../support/garbage.js';
import { RandomNumbers } from '../../support/random-numbers.js';
import { never, watch } from '../stub-backend.js';
import { heldFixture, listeningFixture, PLAIN, stubFixture } from '../stub-fixture.js';

describe('the error of a time-out', () => {
  /** The permits that this process holds beside the wait, and the words of the message on them. */
  async function heldHere(clock: ManualClock, acquiring: Promise<unknown>, time: number) {
    const late = watch(clock, acquiring);
    await clock.advance(time);
    expect(late.error).to.be.instanceOf(AcquireTimeoutError);
    const { heldHere: count, message } = late.error as AcquireTimeoutError;
    const [, said = ''] = /; (\d of \d permits .*): does the holder wait/.exec(message) ?? [];
    return `${count}: ${said}`;
  }

  it('names the permits, for how long this process holds them, and the label of the oldest holder', async () => {
    const limits = { limit: 1, ttl: 60_000, label: 'web-1:42' };
    const { backend, clock, semaphore, handle } = await heldFixture(limits);
    await clock.advance(29_900);
    const options = { limit: 1, label: '' };
    const [same, other] = ['jobs', 'other'].map((name) => new Semaphore(backend, name, options));
    const handles = [handle, await same?.acquire(), await other?.acquire()];
    backend.onAcquire = (call) => backend.allQueued(call);
    expect(await heldHere(clock, semaphore.acquire(100), 100)).to.equal(
      '2: 2 of 1 permits are held by this process, for 30 s, as web-1:42',
    );
    await handles[0]?.release();
    expect(await heldHere(clock, semaphore.acquire(150), 150)).to.equal(
      '1: 1 of 1 permits is held by this process, for 250 ms',
    );
    await handles[1]?.release();
    backend.onAcquire = (call) => backend.verdicts(call, () => ({ kind: 'busy' }));
    expect(await heldHere(clock, semaphore.acquire(0), 0)).to.equal('0: ');
    await handles[2]?.release();
  });

  it('says nothing of a try that was made just before it, on several masters, too', async () => {
    const { backend, clock, semaphore } = stubFixture();
    backend.onAcquire = async (call, index) => {
      if (index > 0) await new Promise<void>((resolve) => clock.schedule(resolve, 40));
      return backend.verdicts(call, () => ({ kind: 'queued', arrival: undefined }));
    };
    const late = [80, 90, 105].map((time) => watch(clock, semaphore.acquire(time)));
    const start = clock.monotonic();
    await clock.advance(106);
    expect(backend.tries.map((at) => at - start)).to.deep.equal([0, 10, 70]);
    const causes = late.map(({ error }) => (error as Error).cause);
    expect(causes).to.deep.equal([undefined, undefined, undefined]);
  });

  it('costs no look at the requests that wait where nothing is held: many may time out together', () => {
    const { backend, clock } = stubFixture();
    const options = { limit: 1, ttl: 3000, extendEvery: 0, label: '', retry: PLAIN, clock };
    const link = new SemaphoreLink(backend, { prefix: 'redsem', name: 'jobs' }, options);
    const looks = spy(link.permits, 'values');
    expect([link.heldHere, looks.callCount]).to.deep.equal([undefined, 0]);
  });

  it('is of the key that was missing, for locks of several', async () => {
    const clock = new ManualClock();
    const backend = new MemoryBackend({ clock });
    const locks = new KeyedMutex(backend, { label: 'web-1:42' });
    const semaphoreOf = (name: string) => new Semaphore(backend, name, { limit: 1 });
    const [free, taken] = [semaphoreOf('free'), semaphoreOf('taken')];
    const handles = [await locks.acquire('b'), await taken.acquire()];
    expect(await heldHere(clock, locks.acquire(['a', 'b'], 100), 100)).to.equal(
      '1: 1 of 1 permits is held by this process, for 100 ms, as web-1:42',
    );
    expect(await heldHere(clock, locks.acquire('b', 0), 0)).to.match(/^1: 1 of 1/);
    expect(await heldHere(clock, acquireAll([free, taken], 50), 50)).to.match(/^1: 1 of 1/);
    for (const handle of handles) await handle.release();
  });
});

describe('the progress that a waiting request hears of', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    clock = new ManualClock(1e12);
    backend = new MemoryBackend({ clock });
    semaphore = new Semaphore(backend, 'jobs', { limit: 5 });
  });

  afterEach(() => semaphore.close());

  it('has an estimate by its own moves: undefined until it is nearer than at first', async () => {
    const stubbed = stubFixture();
    const places = [5, 3, 4, 7, 5, 0];
    stubbed.backend.onAcquire = (call) => {
      const position = places[Math.floor(stubbed.clock.monotonic() / 2000)] ?? 0;
      const progress = { position, waiting: 9 };
      return stubbed.backend.verdicts(call, () => ({ kind: 'queued', arrival: 1, progress }));
    };
    const heard: [number, number | undefined][] = [];
    const times: number[] = [];
    const onWaiting = ({ position, estimate }: WaitingReport): void => {
      times.push(stubbed.clock.monotonic());
      heard.push([position, estimate]);
    };
    stubbed.acquire({ timeout: 20_000, onWaiting });
    await stubbed.clock.advance(20_000);
    const [start = 0, second = 0, third = 0, , , last = 0] = times;
    expect(heard).to.deep.equal([
      [5, undefined],
      [3, (4 * (second - start)) / 3],
      [4, (5 * (third - start)) / 2],
      [7, undefined],
      [5, undefined],
      [0, (last - start) / 6],
    ]);
  });

  for (const [title, holdOf, most] of [
    ['half to one and a half of their mean', (x: number) => 500 * (0.5 + x), 0.3],
    ['any length', (x: number) => -500 * Math.log(1 - x), 0.8],
  ] as const) {
    it(`has 90 % of its estimates within ${most * 100} % of the wait in a steady state, with random times of holding of ${title}`, async () => {
      const random = new RandomNumbers(7);
      const errors: number[] = [];
      const loop = async (): Promise<void> => {
        while (clock.monotonic() < 100_000) {
          const heard: { readonly at: number; readonly estimate: number }[] = [];
          const onWaiting = ({ estimate }: WaitingReport): void => {
            if (estimate !== undefined) heard.push({ at: clock.monotonic(), estimate });
          };
          const handle = await semaphore.acquire({ onWaiting });
          const now = clock.monotonic();
          for (const { at, estimate } of heard) {
            if (at > 20_000) errors.push(Math.abs(estimate / (now - at) - 1));
          }
          const hold = holdOf(random.next());
          await new Promise<void>((resolve) => clock.schedule(resolve, hold));
          await handle.release();
        }
      };
      const loops = Array.from({ length: 60 }, loop);
      await clock.advance(130_000);
      await Promise.all(loops);
      expect(errors).to.have.length.above(1000);
      const near = errors.filter((error) => error < most);
      expect(near.length / errors.length).to.be.at.least(0.9);
    });
  }

  it('costs no call, and comes only when it has changed', async () => {
    const asked = stub(backend, 'acquire').callThrough();
    const heard: string[] = [];
    const onWaiting = ({ position, waiting }: WaitingReport): void =>
      void heard.push(`${position} of ${waiting}`);
    /** The calls for three requests that wait for ten seconds. */
    const counts: number[] = [];
    for (const options of [{}, { onWaiting }]) {
      asked.resetHistory();
      const holder = await semaphore.acquire({ permits: 5 });
      const waiting = [1, 2, 3].map(() => semaphore.acquire(options));
      await clock.advance(10_000);
      await holder.release();
      for (const handle of await Promise.all(waiting)) await handle.release();
      // Its subscription ends.
      await clock.advance(11_000);
      counts.push(asked.callCount);
    }
    expect(counts[1]).to.equal(counts[0]);
    expect(heard).to.deep.equal(['0 of 3', '1 of 3', '2 of 3']);
  });

  it('is heard no longer than it waits: a listener may refer to its own handle', async () => {
    const job = async (): Promise<WeakRef<object>> => {
      const handle: Handle = await semaphore.acquire({ onWaiting: () => void handle });
      // Once it is renewed, the lease holds its handle weakly.
      await handle.extend();
      return new WeakRef(handle);
    };
    const ref = await job();
    await collectUntil(() => ref.deref() === undefined);
  });
});

const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');

/** The outages that it reports from now on. */
function outagesOf(source: Semaphore | KeyedSemaphore): SemaphoreWarning[] {
  const heard: SemaphoreWarning[] = [];
  source.on('warning', (warning: SemaphoreWarning) => {
    if (warning.code === 'BACKEND_UNREACHABLE') heard.push(warning);
  });
  return heard;
}

describe('an outage while a request waits', () => {
  it('is a single warning for any number of keys, goes to a later listener, and comes again in the next outage after 5 s', async () => {
    const { backend, clock } = stubFixture();
    const tenants = new KeyedSemaphore(backend, { limit: 1, retry: PLAIN });
    backend.onAcquire = () => Promise.reject(refused);
    for (const key of ['a', 'b', 'c']) watch(clock, tenants.acquire(key, 45_000));
    await clock.advance(20_000);
    const heard = outagesOf(tenants);
    await clock.advance(30_000);
    expect(heard).to.have.length(1);
    // Its waiters are gone before the outage ends: a reply for another key ends it.
    backend.onAcquire = (call) => backend.allQueued(call);
    watch(clock, tenants.acquire('d', 1000));
    await clock.advance(2000);
    backend.onAcquire = () => Promise.reject(refused);
    watch(clock, tenants.acquire('e', 90_000));
    await clock.advance(4900);
    expect(heard).to.have.length(1);
    await clock.advance(60_000);
    expect(heard).to.have.length(2);
  });

  it('is none without a waiter, with a reply in between, or with an answer that is late once', async () => {
    const { backend, clock, semaphore, acquire } = stubFixture({ ttl: 1000 });
    const heard = outagesOf(semaphore);
    backend.onAcquire = () => Promise.reject(refused);
    acquire(3000);
    await clock.advance(60_000);
    acquire(3000);
    await clock.advance(3000);
    backend.onAcquire = (call, index) => (index % 3 === 0 ? never() : backend.allQueued(call));
    acquire();
    await clock.advance(30_000);
    expect(heard).to.deep.equal([]);
    backend.onAcquire = () => Promise.reject(refused);
    await clock.advance(10_000);
    const message =
      'cannot reach Redis: acquire() of "jobs" waits, and no call has succeeded for 5 s; it is retried; last error: connect ECONNREFUSED 127.0.0.1:1';
    expect(heard).to.have.length(1);
    expect(heard[0]).to.include({ cause: refused, message });
  });

  it('is none where a single call got no reply and others were answered, nor after a stall of the event loop', async () => {
    const held = await heldFixture({ ttl: 30_000 });
    const heard = outagesOf(held.semaphore);
    held.backend.onAcquire = (call, index) =>
      index === 3 ? never() : held.backend.allQueued(call);
    held.backend.onExtend = (call, index) => (index === 0 ? never() : held.backend.extended(call));
    held.acquire();
    await held.clock.advance(100);
    held.acquire();
    await held.clock.advance(20_000);
    held.backend.onRelease = () => never();
    watch(held.clock, held.handle.release());
    await held.clock.advance(6000);
    const { backend, clock, semaphore, id } = await listeningFixture();
    const heardStalled = outagesOf(semaphore);
    await clock.advance(100);
    clock.stall(6000);
    // It was pushed before the stall.
    await backend.push(id, -900);
    await clock.advance(100);
    expect([heard, heardStalled]).to.deep.equal([[], []]);
  });
});
