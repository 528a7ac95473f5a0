import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { spy } from 'sinon';

import type { KeepableLease, KeptSemaphore } from '../../src/backends/lease-keeper.js';
import { MOST_LEASES } from '../../src/keeper/shared-leases.js';
import { type Handle, MemoryBackend, Semaphore, type SemaphoreOptions } from '../../src/index.js';
import type { ReleaseMessage } from '../../src/telemetry-messages.js';
import { collectOften, collectUntil } from '../support/garbage.js';
import { errorOf } from '../support/rejection.js';
import { SecondThread } from './second-thread.js';

const TTL = 3000;

const KEPT: KeptSemaphore = {
  key: { prefix: 'redsem', name: 'render' },
  limit: 1,
  ttl: TTL,
  extendEvery: TTL / 3,
  retry: { min: 10, max: 100, factor: 2, jitter: true },
};
/** Of a holder that is of no interest. */
const LEASE = { id: 'none', fencingToken: 1, name: 'render', remaining: 0, takeBack: () => {} };
const NO_LEASE = LEASE as Partial<KeepableLease> as KeepableLease;

describe('a permit that a keeper renews', () => {
  let threads: SecondThread;
  let other: Semaphore;
  let lost: string[];

  beforeEach(() => start());

  function start(maxStall?: number): void {
    threads = new SecondThread(maxStall);
    other = new Semaphore(threads.memory, 'render', { limit: 1, ttl: TTL });
    lost = [];
  }

  function open(options: Partial<SemaphoreOptions> = {}): Semaphore {
    const all = { limit: 1, ttl: TTL, keeper: threads, ...options };
    return new Semaphore(threads.backend, 'render', all);
  }

  async function hold(semaphore = open()): Promise<Handle> {
    const handle = await semaphore.acquire();
    handle.on('lost', ({ reason }) => lost.push(reason));
    return handle;
  }

  /** The main thread's loop is blocked, and another process asks all the time. */
  async function block(duration: number, each: () => void = () => {}): Promise<void> {
    threads.main.isBlocked = true;
    for (let passed = 0; passed < duration; passed += 100) {
      await threads.time.advance(100);
      each();
      expect(await other.tryAcquire(), `after ${passed} ms`).to.equal(null);
    }
  }

  it('outlives blocked loops of four times its life, and is right meanwhile', async () => {
    const given = (await other.tryAcquire())?.toJSON();
    const adopted = given && (await open().adopt(given));
    const pushed = hold(open({ ttl: 30_000 }));
    await block(4 * TTL);
    threads.main.unblock();
    await threads.time.advance(1000);
    expect(await adopted?.release()).to.equal(true);
    const handle = await pushed;
    await block(4 * TTL);
    threads.main.unblock();
    expect([handle.held, await handle.release()]).to.deep.equal([true, true]);
    const granted = await hold();
    const before = threads.by('keeper');
    const schedule = spy(threads.main, 'schedule');
    await block(4 * TTL, () => {
      expect(granted.held).to.equal(true);
      expect(granted.expiresIn).to.be.within(0.5 * TTL, TTL);
    });
    threads.main.unblock();
    await threads.time.advance(3 * TTL);
    expect(threads.by('main')).to.equal(0);
    expect(threads.by('keeper') - before).to.be.within(18, 22);
    expect(schedule.args.map(([, , keepAlive]) => keepAlive))
      .to.include(false)
      .and.not.include(true);
    expect(await granted.release()).to.equal(true);
    expect(lost).to.deep.equal([]);
    expect(await other.tryAcquire()).to.be.an('object');
  });

  it('is given up when the loop is blocked for too long at once, before its ticket expires', async () => {
    start(1500);
    const handle = await hold();
    for (let stall = 0; stall < 2; stall += 1) {
      await block(2500);
      threads.main.unblock();
      await threads.time.advance(1);
      expect([handle.held, lost]).to.deep.equal([true, []]);
    }
    let aborted = 0;
    handle.signal.addEventListener('abort', () => (aborted += 1));
    threads.main.isBlocked = true;
    let passed = 0;
    for (; handle.held; passed += 1) await threads.time.advance(1);
    expect(passed).to.be.within(1500, 1500 + TTL);
    expect(await other.tryAcquire(), 'its ticket still lives').to.equal(null);
    await threads.time.advance(TTL);
    threads.main.unblock();
    await threads.time.advance(TTL);
    expect([aborted, lost]).to.deep.equal([1, ['expired']]);
    expect(await other.tryAcquire()).to.be.an('object');
    expect(await handle.release()).to.equal(false);
  });

  for (const thread of ['main', 'keeper'] as const) {
    it(`is not believed in for too long when the ${thread} thread stops after any look`, async () => {
      for (let look = 1; ; look += 1) {
        start();
        const clock = threads[thread];
        [clock.stopAfter, clock.stopFor] = [look, 0.7 * TTL];
        const handle = await hold();
        await threads.time.advance(0.4 * TTL);
        [threads.main.isBlocked, threads.keeper.isBlocked] = [true, true];
        if (!clock.hasStopped) return expect(look).to.be.above(10);
        while ((await other.tryAcquire()) === null) {
          expect(handle.expiresIn, `after look ${look}`).to.be.below(TTL);
          await threads.time.advance(5);
        }
        expect(handle.held, `after look ${look}`).to.equal(false);
      }
    });
  }

  it('whose ticket is gone at its release is lost, however old its first lease is', async () => {
    const semaphore = open();
    const heard: string[] = [];
    semaphore.on('warning', ({ code }) => heard.push(code));
    await semaphore.use(async (handle) => {
      await threads.time.advance(2.2 * TTL);
      await (await other.adopt(handle.toJSON())).release();
      handle.markUnchecked();
    });
    await threads.time.advance(1);
    expect(heard).to.deep.equal(['LOST_UNNOTICED']);
  });

  it('was held past its end only after its last renewal is over', async () => {
    const overruns: number[] = [];
    const onRelease = (message: unknown) => overruns.push((message as ReleaseMessage).overrun);
    subscribe('redsem:release', onRelease);
    const handle = await hold();
    await threads.time.advance(2.2 * TTL);
    await handle.release();
    const late = await hold();
    await threads.time.advance(2.2 * TTL);
    threads.keeper.isBlocked = true;
    threads.main.isBlocked = true;
    while (late.held) await threads.time.advance(1);
    await threads.time.advance(500);
    threads.main.unblock();
    await late.release();
    unsubscribe('redsem:release', onRelease);
    expect(overruns).to.have.length(2).with.property('0', 0);
    expect(overruns[1]).to.be.closeTo(500, 50);
  });

  it('is not renewed after its release, though the order to stop is on its way', async () => {
    const handle = await hold();
    await threads.time.advance(TTL);
    threads.isSlow = true;
    expect(await handle.release()).to.equal(true);
    const renewed = threads.by('keeper');
    const next = await other.tryAcquire();
    await threads.time.advance(2 * TTL);
    expect(threads.by('keeper')).to.equal(renewed);
    expect(next?.held).to.equal(true);
    threads.deliver();
    await threads.time.advance(2 * TTL);
    expect(await next?.release()).to.equal(true);
    expect(lost).to.deep.equal([]);
  });

  const FULL = `has ${MOST_LEASES} permits already`;
  const ELSEWHERE = 'finds none of "render": another server or database?';

  /** Each gives the end of the trouble. */
  const fail = () => {
    threads.failWith = new Error('NOAUTH Authentication required.');
    return () => (threads.failWith = undefined);
  };
  const hang = () => {
    threads.keeper.isBlocked = threads.isSlow = true;
    return () => {
      threads.isSlow = false;
      threads.deliver();
      threads.keeper.unblock();
    };
  };
  const fill = () => {
    threads.isSlow = true;
    const keep = threads.open(KEPT);
    const kept = Array.from({ length: MOST_LEASES }, () => keep(NO_LEASE));
    return () => {
      threads.discard();
      for (const index of [4711, MOST_LEASES - 1]) {
        kept[index]?.stop();
        threads.leases.hear({ what: 'free', index });
      }
      threads.isSlow = false;
    };
  };
  const move = () => {
    threads.elsewhere = new MemoryBackend({ clock: threads.time });
    return () => (threads.elsewhere = undefined);
  };
  for (const [trouble, warnings, when, begin] of [
    ['cannot renew', ['cannot renew: it fails'], 'after', fail],
    ['answers no more', [], 'after', hang],
    ['is full', [FULL], 'before', fill],
    ['reaches another server', [ELSEWHERE], 'before', move],
  ] as const) {
    it(`is renewed by this thread while the keeper ${trouble}, and by the keeper afterwards`, async () => {
      let end = when === 'before' ? begin() : undefined;
      const handles = [await hold(open({ limit: 2 })), await hold(open({ limit: 2 }))];
      await threads.time.advance(2 * TTL);
      end ??= begin();
      const extending = handles[0]?.extend();
      await threads.time.advance(10 * TTL);
      await extending;
      expect(threads.by('main')).to.be.within(20, 90);
      // The thread says of each renewal that it failed; `Keeper` warns once.
      const said = begin === fail ? [...new Set(threads.warnings)] : threads.warnings;
      expect(said).to.deep.equal(warnings);
      end();
      await threads.time.advance(2 * TTL);
      const before = threads.by('main');
      await threads.time.advance(4 * TTL);
      expect(threads.by('main'), 'the keeper renews again').to.equal(before);
      threads.leases.end();
      await threads.time.advance(10 * TTL);
      const released = await Promise.all(handles.map((handle) => handle.release()));
      expect([released, lost]).to.deep.equal([[true, true], []]);
    });
  }

  it('is not given back by a keeper that learns late of a renewal', async () => {
    const handle = await hold();
    let deliver = (): void => {};
    threads.delivery = new Promise((resolve) => (deliver = resolve));
    await threads.time.advance(2 * TTL);
    expect(threads.by('main')).to.be.at.least(1);
    deliver();
    threads.delivery = undefined;
    await threads.time.advance(TTL);
    expect(handle.held).to.equal(true);
    expect(await other.tryAcquire()).to.equal(null);
    expect(await handle.release()).to.equal(true);
  });

  it('is extended by the keeper once it has started, and by this thread during its trouble', async () => {
    threads.isSlow = true;
    const handle = await hold();
    const calls = () => [threads.by('main'), threads.by('keeper')];
    const extending = handle.extend();
    await threads.time.advance(900);
    expect(calls()).to.deep.equal([0, 0]);
    threads.deliver();
    await extending;
    expect(calls()).to.deep.equal([0, 1]);
    expect(handle.expiresIn).to.be.above(0.95 * TTL);
    const again = handle.extend();
    threads.say('its module has given no client yet');
    await again;
    await handle.extend();
    expect(calls()).to.deep.equal([2, 1]);
    threads.say(undefined);
    threads.isSlow = false;
    threads.failWith = new Error('refused');
    await handle.extend();
    expect(calls()).to.deep.equal([3, 2]);
    const why = ['its module has given no client yet', 'it fails'];
    expect(threads.warnings).to.deep.equal(why.map((text) => `cannot renew: ${text}`));
    threads.failWith = undefined;
    await other.revoke(handle.id);
    expect(await errorOf(handle.extend(), Error)).to.include({ reason: 'revoked' });
    expect(lost).to.deep.equal(['revoked']);
  });

  it('is lost for good when the keeper never saw it and this thread finds it gone', async () => {
    const handle = await hold();
    await other.revoke(handle.id);
    threads.elsewhere = new MemoryBackend({ clock: threads.time });
    await threads.time.advance(TTL / 2);
    expect(lost).to.deep.equal(['revoked']);
    expect(threads.warnings).to.deep.equal([]);
  });

  it('is let go when its handle is dropped, though the keeper renews it', async () => {
    const semaphore = open();
    let handle: Handle | undefined = await semaphore.acquire();
    const dropped = new WeakRef(handle);
    await threads.time.advance(2 * TTL);
    expect(threads.by('main')).to.equal(0);
    handle = undefined;
    await collectUntil(() => dropped.deref() === undefined);
    await collectOften();
    await threads.time.advance(2 * TTL);
    expect(await other.tryAcquire()).to.be.an('object');
  });

  it('leaves nothing behind', async () => {
    const semaphore = open();
    for (let i = 0; i < 200; i++) {
      await semaphore.use(() => {});
      await threads.time.advance(1);
    }
    await semaphore.close();
    await threads.time.advance(60_000);
    expect(threads.time.timers).to.equal(0);
    expect(threads.notices.filter(({ what }) => what === 'free')).to.have.lengthOf(200);
  });
});
