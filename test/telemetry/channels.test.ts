import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { HandleLostError, MemoryBackend, Semaphore } from '../../src/index.js';
import { instant } from '../../src/clock.js';
import { Heartbeat } from '../../src/heartbeat.js';
import { Lease } from '../../src/lease.js';
import { ManualClock } from '../../src/manual-clock.js';
import { StubBackend, watch } from '../unit/stub-backend.js';
import { ChannelLog } from './channel-log.js';

const NAME = 'channels';

describe('diagnostics channels', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let log: ChannelLog;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    log = new ChannelLog(NAME);
  });

  afterEach(() => log.end());

  it('tell of a call, its grant and its release', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 3 });
    const handle = await semaphore.acquire({ permits: 2, timeout: 500 });
    await clock.advance(40);
    await handle.release();
    const { id, slots, fencingToken } = handle;
    expect(log.of('tracing:redsem:acquire:start')).to.deep.equal([
      { name: NAME, permits: 2, timeout: 500 },
    ]);
    const grant = { name: NAME, id, slots, fencingToken, waited: 0, attempts: 1 };
    expect(log.of('redsem:grant')).to.deep.equal([grant]);
    expect(log.of('tracing:redsem:acquire:asyncStart')[0]).to.have.property('result', handle);
    const ended = { lost: undefined, overrun: 0, error: undefined };
    const release = { released: true, heldFor: 40, ...ended };
    expect(log.of('redsem:release')).to.deep.equal([{ name: NAME, id, ...release }]);
    expect(log.of('redsem:wait')).to.deep.equal([]);
  });

  it('tell of a wait, of how many wait, and for how long it was', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1 });
    const first = await semaphore.acquire();
    const second = semaphore.acquire();
    await clock.advance(250);
    expect(log.of('redsem:wait')).to.have.length(1);
    expect(log.of('redsem:queue').at(-1)).to.deep.equal({ name: NAME, waiting: 1 });
    await first.release();
    await clock.advance(0);
    const handle = await second;
    expect(log.of('redsem:wait')[0]).to.deep.include({ id: handle.id, permits: 1 });
    expect(log.of('redsem:queue').at(-1)).to.deep.equal({ name: NAME, waiting: 0 });
    expect(log.of('redsem:grant')[1]).to.deep.include({ id: handle.id, waited: 250 });
    await semaphore.close();
  });

  it('tell of a wait once, and as soon as it is known', async () => {
    const stub = new StubBackend();
    const semaphore = new Semaphore(stub, NAME, { limit: 1 });
    const waiting = watch(stub.clock, semaphore.acquire(60_000));
    await stub.clock.advance(0);
    expect(log.of('redsem:wait')).to.have.length(1);
    await stub.clock.advance(10_000);
    expect(stub.acquires).to.have.length.above(2);
    expect(log.of('redsem:wait')).to.have.length(1);
    expect(waiting.done).to.equal(false);
    await semaphore.close();
  });

  it('tell of a call that rejects, and of one that finds no permit', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1 });
    const handle = await semaphore.acquire();
    const late = watch(clock, semaphore.acquire(30));
    await clock.advance(30);
    expect(await semaphore.tryAcquire()).to.equal(null);
    await handle.release();
    expect(log.of('tracing:redsem:acquire:error')).to.have.length(1);
    expect(log.of('tracing:redsem:acquire:error')[0]).to.have.property('error', late.error);
    const results = log.of('tracing:redsem:acquire:asyncStart').map(({ result }) => result);
    expect(results).to.deep.equal([handle, undefined, null]);
    expect(log.of('redsem:grant')).to.have.length(1);
  });

  it('tell of a bad argument as of any call that rejects', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1 });
    const error: unknown = await semaphore.acquire(-1).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(RangeError);
    expect(log.of('tracing:redsem:acquire:error')[0]).to.have.property('error', error);
  });

  it('tell of a loss, and of the release that comes after it', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1, ttl: 1000, extendEvery: 0 });
    const handle = await semaphore.acquire();
    await clock.advance(1500);
    expect(handle.held).to.equal(false);
    expect(await handle.release()).to.equal(false);
    await handle.release();
    const [lost] = log.of('redsem:lost');
    expect(lost).to.deep.include({ id: handle.id, reason: 'expired' });
    expect(lost?.['heldFor']).to.be.within(900, 1000);
    expect(log.of('redsem:release')).to.deep.equal([
      {
        name: NAME,
        id: handle.id,
        released: false,
        heldFor: 1500,
        lost: 'expired',
        overrun: 500,
        error: undefined,
      },
    ]);
    expect(log.of('redsem:lost')).to.have.length(1);
  });

  it('tell of each extension, and why one failed', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    const trouble = new Error('LOADING');
    stub.onExtend = (call, index) => (index === 0 ? Promise.reject(trouble) : stub.extended(call));
    const semaphore = new Semaphore(stub, NAME, { limit: 1, ttl: 3000 });
    const handle = await semaphore.acquire();
    await stub.clock.advance(1500);
    const about = { name: NAME, id: handle.id };
    expect(log.of('redsem:extend').slice(0, 2)).to.deep.equal([
      { ...about, error: trouble },
      { ...about, error: undefined },
    ]);
    await semaphore.close();
  });

  it('tell why a release failed', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    stub.isRetryable = () => false;
    stub.onRelease = () => Promise.reject(new Error('NOPERM'));
    const semaphore = new Semaphore(stub, NAME, { limit: 1 });
    const handle = await semaphore.acquire();
    const released = watch(stub.clock, handle.release());
    await stub.clock.advance(0);
    expect(released.error).to.be.instanceOf(Error);
    const [message] = log.of('redsem:release');
    expect(message).to.deep.include({ released: false, lost: undefined, error: released.error });
  });

  it('tell of an adopted ticket as of a grant that was not asked for', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 2 });
    const handle = await semaphore.acquire({ permits: 2 });
    const adopted = await semaphore.adopt(handle.toJSON());
    const { id, slots, fencingToken } = adopted;
    const grant = { name: NAME, id, slots, fencingToken, waited: 0, attempts: 0 };
    expect(log.of('redsem:grant')[1]).to.deep.equal(grant);
    expect(log.of('redsem:lost')[0]).to.deep.include({ id: handle.id, reason: 'missing' });
    await adopted.release();
  });

  it('tell of a revocation', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1 });
    const handle = await semaphore.acquire();
    await semaphore.revoke(handle.id);
    expect(log.of('redsem:lost')[0]).to.deep.include({ id: handle.id, reason: 'revoked' });
    await semaphore.close();
  });

  it('tell of another limit under the same name', async () => {
    const three = new Semaphore(backend, NAME, { limit: 3 });
    const five = new Semaphore(backend, NAME, { limit: 5 });
    const handle = await three.acquire();
    await (await five.acquire()).release();
    expect(log.of('redsem:mismatch')).to.deep.equal([{ name: NAME, limit: 5, otherLimit: 3 }]);
    await handle.release();
  });

  it('tell of a handle that was garbage collected without release', () => {
    const terms = { name: NAME, ttl: 1000, clock, keeper: { onLeaseEnd: () => {} } };
    const ticket = { slots: [0], fencingToken: 1 };
    const lease = new Lease(terms, 'a.1', ticket, { since: instant(clock), span: 1000 });
    let collected: ((dropped: Lease) => void) | undefined;
    lease.observe({ onLost: () => {}, weaken: (forget) => (collected = forget) });
    const heartbeat = new Heartbeat({ clock, extendEvery: 300, extend: () => {} });
    heartbeat.add(lease, 300, 1000, 0);
    heartbeat.confirmed(lease, 0);
    expect(log.of('redsem:drop')).to.deep.equal([]);
    collected?.(lease);
    expect(log.of('redsem:drop')).to.deep.equal([{ name: NAME, id: 'a.1' }]);
    expect(clock.timers).to.equal(0);
  });

  it('do not disturb a semaphore when a listener throws', async () => {
    const semaphore = new Semaphore(backend, NAME, { limit: 1, ttl: 1000 });
    const problems: unknown[] = [];
    const others = process.listeners('uncaughtException');
    const fail = (): never => {
      throw new Error('a listener of somebody');
    };
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => problems.push(error));
    subscribe('redsem:grant', fail);
    subscribe('redsem:lost', fail);
    try {
      const handle = await semaphore.acquire();
      await semaphore.revoke(handle.id);
      expect(handle.signal.reason).to.be.instanceOf(HandleLostError);
      await clock.advance(0);
      expect(problems).to.have.length(2);
    } finally {
      unsubscribe('redsem:grant', fail);
      unsubscribe('redsem:lost', fail);
      process.removeAllListeners('uncaughtException');
      for (const other of others) process.on('uncaughtException', other);
    }
    await semaphore.close();
  });
});
