import { expect } from 'chai';

import type { Handle, SemaphoreOptions } from '../../src/index.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { collectOften, collectUntil } from '../support/garbage.js';
import { errorOf } from '../support/rejection.js';
import { SecondThread } from './second-thread.js';

const TTL = 3000;

describe('a permit that a keeper renews', () => {
  let threads: SecondThread;
  let other: Semaphore;
  let lost: string[];

  beforeEach(() => {
    begin();
  });

  function begin(maxStall?: number): void {
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

  it('outlives a blocked loop of four times its life, and is right meanwhile', async () => {
    const handle = await hold();
    await block(4 * TTL, () => {
      expect(handle.held).to.equal(true);
      expect(handle.expiresIn).to.be.within(0.5 * TTL, TTL);
    });
    threads.main.unblock();
    await threads.time.advance(3 * TTL);
    expect(threads.by('main')).to.equal(0);
    expect(threads.by('keeper')).to.be.within(18, 22);
    expect(await handle.release()).to.equal(true);
    expect(lost).to.deep.equal([]);
    expect(await other.tryAcquire()).to.be.an('object');
  });

  it('is lost without a keeper', async () => {
    const handle = await hold(new Semaphore(threads.backend, 'render', { limit: 1, ttl: TTL }));
    threads.main.isBlocked = true;
    await threads.time.advance(TTL);
    expect(await other.tryAcquire()).to.be.an('object');
    expect(handle.held).to.equal(false);
    threads.main.unblock();
    await threads.time.advance(1);
    expect(lost).to.deep.equal(['expired']);
  });

  it('is given up when the loop is blocked for too long, before its ticket expires', async () => {
    begin(1500);
    const handle = await hold();
    threads.main.isBlocked = true;
    let passed = 0;
    for (; handle.held; passed += 1) await threads.time.advance(1);
    expect(passed).to.be.within(1500, 1500 + TTL);
    expect(await other.tryAcquire(), 'its ticket still lives').to.equal(null);
    await threads.time.advance(TTL);
    threads.main.unblock();
    await threads.time.advance(1);
    expect(lost).to.deep.equal(['expired']);
    expect(await other.tryAcquire()).to.be.an('object');
    expect(await handle.release()).to.equal(false);
  });

  it('is renewed again when the loop was back before the end', async () => {
    begin(1500);
    const handle = await hold();
    await block(2500);
    threads.main.unblock();
    await threads.time.advance(1);
    await block(2500);
    threads.main.unblock();
    expect(handle.held).to.equal(true);
    expect(lost).to.deep.equal([]);
  });

  it('is lost at once, in a blocked loop too, when an operator revokes it', async () => {
    const handle = await hold();
    threads.main.isBlocked = true;
    await other.revoke(handle.id);
    await threads.time.advance(TTL / 2);
    expect(handle.held).to.equal(false);
    expect(() => handle.assertHeld()).to.throw('revoked');
    threads.main.unblock();
    await threads.time.advance(TTL);
    expect(lost).to.deep.equal(['revoked']);
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

  it('is renewed by this thread when the keeper ends, or cannot', async () => {
    const handle = await hold();
    await threads.time.advance(2 * TTL);
    threads.failWith = new Error('NOAUTH Authentication required.');
    await threads.time.advance(10 * TTL);
    expect(new Set(threads.troubles)).to.deep.equal(new Set([threads.failWith]));
    expect(threads.by('main')).to.be.within(10, 45);
    expect(handle.held).to.equal(true);
    threads.failWith = undefined;
    await threads.time.advance(2 * TTL);
    const before = threads.by('main');
    await block(4 * TTL);
    threads.main.unblock();
    expect(threads.by('main'), 'the keeper can again').to.equal(before);
    threads.end();
    await threads.time.advance(10 * TTL);
    expect(handle.held).to.equal(true);
    expect(await handle.release()).to.equal(true);
    expect(lost).to.deep.equal([]);
  });

  it('is not given back by a keeper that hears late of what it renewed', async () => {
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

  it('is extended by the keeper, and by this thread when the keeper cannot', async () => {
    const handle = await hold();
    await threads.time.advance(900);
    await handle.extend();
    expect([threads.by('main'), threads.by('keeper')]).to.deep.equal([0, 1]);
    expect(handle.expiresIn).to.be.above(0.95 * TTL);
    threads.failWith = new Error('refused');
    await handle.extend();
    expect(threads.by('main')).to.equal(1);
    threads.failWith = undefined;
    await other.revoke(handle.id);
    expect(await errorOf(handle.extend(), Error)).to.include({ reason: 'revoked' });
    expect(lost).to.deep.equal(['revoked']);
  });

  it('waits with an extension for the start of the keeper, or for its trouble', async () => {
    threads.isSlow = true;
    const handle = await open().acquire();
    const extending = handle.extend();
    await threads.time.advance(10);
    expect([threads.by('main'), threads.by('keeper')]).to.deep.equal([0, 0]);
    threads.deliver();
    await extending;
    expect([threads.by('main'), threads.by('keeper')]).to.deep.equal([0, 1]);
    const again = handle.extend();
    threads.say('its module has given no client yet');
    await again;
    expect([threads.by('main'), threads.by('keeper')]).to.deep.equal([1, 1]);
    await handle.extend();
    expect([threads.by('main'), threads.by('keeper')]).to.deep.equal([2, 1]);
    expect(threads.warnings).to.deep.equal(['cannot renew: its module has given no client yet']);
  });

  it('stays held, with a warning, when the keeper reaches another server', async () => {
    threads.elsewhere = new MemoryBackend({ clock: threads.time });
    const handles = [await hold(open({ limit: 3 })), await hold(open({ limit: 3 }))];
    await threads.time.advance(10 * TTL);
    expect(threads.warnings).to.deep.equal(['finds none of "render": another server or database?']);
    expect(handles.map(({ held }) => held)).to.deep.equal([true, true]);
    threads.elsewhere = undefined;
    await threads.time.advance(2 * TTL);
    const before = threads.by('main');
    await threads.time.advance(4 * TTL);
    expect(threads.by('main'), 'the keeper finds them now').to.equal(before);
    expect(await Promise.all(handles.map((handle) => handle.release()))).to.deep.equal([
      true,
      true,
    ]);
    expect(lost).to.deep.equal([]);
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

  it('travels with others, 500 in a call, whichever semaphore object it is of', async () => {
    const semaphores = Array.from({ length: 10 }, () => open({ limit: 10_000 }));
    const handles = await Promise.all(
      semaphores.flatMap((semaphore) => Array.from({ length: 1000 }, () => semaphore.acquire())),
    );
    await threads.time.advance(1.2 * TTL);
    const sizes = threads.renewals.map(({ ids }) => ids.length);
    expect(Math.max(...sizes)).to.be.within(400, 1000);
    expect(new Set(threads.renewals.flatMap(({ ids }) => ids))).to.have.lengthOf(10_000);
    await Promise.all(handles.map((handle) => handle.release()));
    const renewals = threads.by('keeper');
    await threads.time.advance(2 * TTL);
    expect(threads.by('keeper')).to.equal(renewals);
  });

  it('is renewed after it was adopted', async () => {
    const given = (await other.tryAcquire())?.toJSON();
    const semaphore = open();
    const handle = given && (await semaphore.adopt(given));
    await block(4 * TTL);
    threads.main.unblock();
    expect(handle?.held).to.equal(true);
    expect(await handle?.release()).to.equal(true);
  });

  it('was granted by a push: its short claim is renewed in time', async () => {
    const first = await other.tryAcquire();
    const waiting = hold();
    await threads.time.advance(1000);
    await first?.release();
    const handle = await waiting;
    await block(4 * TTL);
    threads.main.unblock();
    expect(handle.held).to.equal(true);
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
