import { expect } from 'chai';

import { BackendError, HandleLostError, MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { StubBackend, watch } from './stub-backend.js';

describe('setLimit, adopt and revoke', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
  });

  const semaphoreOf = (limit = 1, label = 'here'): Semaphore =>
    new Semaphore(backend, 'jobs', { limit, label, ttl: 1000 });

  it('stores a limit that counts at once, also for who was made with another', async () => {
    const [one, other] = [semaphoreOf(1), semaphoreOf(1, 'elsewhere')];
    await one.setLimit(2);
    expect(one.limit).to.equal(2);
    const handles = [await other.acquire(0), await other.acquire(0)];
    expect(other.limit).to.equal(2);
    expect(await one.tryAcquire()).to.equal(null);
    for (const handle of handles) await handle.release();
  });

  it('knows the limit that it was made with before any call', () => {
    expect(semaphoreOf(3).limit).to.equal(3);
  });

  it('hands a ticket over with its slots and a higher token, and the old holder finds it lost', async () => {
    const [giver, taker] = [semaphoreOf(2), semaphoreOf(2, 'elsewhere')];
    const handle = await giver.acquire();
    const adopted = await taker.adopt(handle.toJSON());
    expect(adopted.slots).to.deep.equal(handle.slots);
    expect(adopted.fencingToken).to.be.above(handle.fencingToken);
    expect(adopted.id).to.not.equal(handle.id);
    expect(adopted.expiresIn).to.equal(988);
    await clock.advance(400);
    expect(handle.held).to.equal(false);
    expect(() => handle.assertHeld())
      .to.throw(HandleLostError)
      .with.property('reason', 'missing');
    // It is extended on, so it outlives its ttl.
    await clock.advance(3000);
    expect(adopted.held).to.equal(true);
    expect(await adopted.release()).to.equal(true);
    expect((await taker.inspect()).held).to.equal(0);
  });

  it('refuses to adopt a ticket that is gone', async () => {
    const [giver, taker] = [semaphoreOf(2), semaphoreOf(2, 'elsewhere')];
    const handle = await giver.acquire();
    const data = handle.toJSON();
    await handle.release();
    const adopting = watch(clock, taker.adopt(data));
    await clock.advance(0);
    expect(adopting.error).to.be.instanceOf(HandleLostError).with.property('reason', 'missing');
    expect((await taker.inspect()).held).to.equal(0);
  });

  it('takes a ticket away: its holder alone is told, and the permit is free', async () => {
    const semaphore = semaphoreOf(2);
    const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
    expect(await semaphoreOf(2, 'operator').revoke(first.id)).to.equal(true);
    await clock.advance(400);
    expect(first.held).to.equal(false);
    expect(() => first.assertHeld())
      .to.throw(HandleLostError)
      .with.property('reason', 'revoked');
    expect(second.held).to.equal(true);
    expect((await semaphore.inspect()).held).to.equal(1);
    await second.release();
  });

  it('says so when there is nothing to revoke', async () => {
    const semaphore = semaphoreOf();
    const handle = await semaphore.acquire();
    await handle.release();
    expect(await semaphore.revoke(handle.id)).to.equal(false);
  });

  it('says so when the backend cannot do it', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    const semaphore = new Semaphore(stub, 'jobs', { limit: 1 });
    const handle = await semaphore.acquire();
    const calls: [method: string, run: () => Promise<unknown>][] = [
      ['setLimit', () => semaphore.setLimit(2)],
      ['adopt', () => semaphore.adopt(handle.toJSON())],
      ['revoke', () => semaphore.revoke(handle.id)],
    ];
    for (const [method, run] of calls) {
      const call = watch(stub.clock, run());
      await stub.clock.advance(0);
      expect(call.error, method).to.be.instanceOf(BackendError);
      expect(String(call.error), method).to.include(`this backend has no ${method}`);
    }
  });
});
