import { metrics } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { expect } from 'chai';
import type { SemaphoreOptions } from '../../src/index.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { instrument } from '../../src/otel/index.js';
import { telemetry } from '../../src/telemetry.js';
import { StubBackend, watch } from '../unit/stub-backend.js';
import { OtelBench } from './otel-bench.js';

const NAME = 'otel-metrics';

describe('OpenTelemetry metrics', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let otel: OtelBench;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    otel = new OtelBench(NAME);
  });

  afterEach(() => otel.close());

  function semaphore(options: Partial<SemaphoreOptions> = {}): Semaphore {
    return new Semaphore(backend, NAME, { limit: 1, ttl: 1000, ...options });
  }

  it('count the permits held, and how long they were', async () => {
    const sem = semaphore({ limit: 5 });
    const [one, three] = [await sem.acquire(), await sem.acquire({ permits: 3 })];
    expect(await otel.value('redsem.permit.count')).to.equal(4);
    await clock.advance(2000);
    await one.release();
    expect(await otel.value('redsem.permit.count')).to.equal(3);
    await clock.advance(500);
    await three.release();
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    expect(await otel.times('redsem.permit.use_time')).to.deep.equal({ count: 2, sum: 4.5 });
    expect(await otel.times('redsem.permit.wait_time')).to.deep.equal({ count: 2, sum: 0 });
    expect(await otel.value('redsem.permit.overages')).to.equal(0);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(0);
  });

  it('count who waits now, who waited, and for how long', async () => {
    const sem = semaphore();
    const first = await sem.acquire();
    const others = [sem.acquire(), sem.acquire()];
    await clock.advance(250);
    expect(await otel.value('redsem.permit.pending_requests')).to.equal(2);
    expect(await otel.value('redsem.permit.waits')).to.equal(2);
    await first.release();
    await clock.advance(0);
    await (await others[0])?.release();
    await clock.advance(0);
    await (await others[1])?.release();
    expect(await otel.value('redsem.permit.pending_requests')).to.equal(0);
    expect(await otel.times('redsem.permit.wait_time')).to.deep.equal({ count: 3, sum: 0.5 });
  });

  it('tell refusals of tryAcquire from requests that failed, by class of error', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    expect(await sem.tryAcquire()).to.equal(null);
    const late = watch(clock, sem.acquire(20));
    await clock.advance(20);
    await handle.release();
    await sem.acquire(-1).catch(() => undefined);
    const failed = (type: string): Promise<number> =>
      otel.value('redsem.permit.failed_requests', { 'error.type': type });
    expect(late.done).to.equal(true);
    expect(await otel.value('redsem.permit.refusals')).to.equal(1);
    expect(await failed('AcquireTimeoutError')).to.equal(1);
    expect(await failed('RangeError')).to.equal(1);
    // Anything may be a caller's reason.
    const own = Object.assign(new Error('no more'), { name: `Error of ${Math.random()}` });
    for (const reason of [own, 'no more', undefined]) {
      await sem.acquire({ signal: AbortSignal.abort(reason) }).catch(() => undefined);
    }
    expect(await failed('_OTHER')).to.equal(2);
    expect(await failed('AbortError')).to.equal(1);
    expect(await otel.value('redsem.permit.pending_requests')).to.equal(0);
  });

  it('count losses by reason, permits that went back, and holders that went on', async () => {
    const sem = semaphore({ limit: 4, extendEvery: 0 });
    const [pair, single] = [await sem.acquire({ permits: 2 }), await sem.acquire()];
    await sem.revoke(single.id);
    await clock.advance(1500);
    // The one is past its ttl, the other was told long before.
    const lost = (reason: string): Promise<number> =>
      otel.value('redsem.permit.losses', { 'redsem.lost.reason': reason });
    expect([await lost('revoked'), await lost('expired')]).to.deep.equal([1, 1]);
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(3);
    expect(await otel.value('redsem.permit.overages')).to.equal(0);
    await Promise.all([pair.release(), single.release()]);
    expect(await otel.value('redsem.permit.overages')).to.equal(2);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(3);
    expect((await otel.times('redsem.permit.use_time')).count).to.equal(2);
  });

  it('count no overage where the holder stops as soon as it is told', async () => {
    const sem = semaphore({ extendEvery: 0 });
    const handle = await sem.acquire();
    handle.on('lost', () => void handle.release());
    await clock.advance(1500);
    expect(handle.held).to.equal(false);
    const expired = { 'redsem.lost.reason': 'expired' };
    expect(await otel.value('redsem.permit.losses', expired)).to.equal(1);
    expect(await otel.value('redsem.permit.overages')).to.equal(0);
  });

  it('count a lease that ran out unnoticed as an overage', async () => {
    const sem = semaphore({ extendEvery: 0 });
    const handle = await sem.acquire();
    clock.stall(1500);
    expect(await handle.release()).to.equal(false);
    expect(await otel.value('redsem.permit.overages')).to.equal(1);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(1);
    expect(await otel.times('redsem.permit.use_time')).to.deep.equal({ count: 1, sum: 1.5 });
  });

  it('count closing as a loss, but neither as an overage nor as a reclaim', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    await sem.close();
    await handle.release();
    const closed = { 'redsem.lost.reason': 'closed' };
    expect(await otel.value('redsem.permit.losses', closed)).to.equal(1);
    expect(await otel.value('redsem.permit.overages')).to.equal(0);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(0);
    expect(await otel.value('redsem.permit.count')).to.equal(0);
  });

  it('count extensions that failed', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    stub.onExtend = (call, index) =>
      index < 2 ? Promise.reject(new TypeError('LOADING')) : stub.extended(call);
    const sem = new Semaphore(stub, NAME, { limit: 1, ttl: 3000 });
    const handle = await sem.acquire();
    await stub.clock.advance(4000);
    const failures = { 'error.type': 'TypeError' };
    expect(await otel.value('redsem.permit.extension_failures', failures)).to.equal(2);
    expect(handle.held).to.equal(true);
    await sem.close();
  });

  it('count a release that failed as a reclaim, for its ticket expires, and not as an overage', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    stub.isRetryable = () => false;
    stub.onRelease = () => Promise.reject(new Error('NOPERM'));
    const handle = await new Semaphore(stub, NAME, { limit: 1 }).acquire();
    const released = watch(stub.clock, handle.release());
    await stub.clock.advance(0);
    expect(released.error).to.be.instanceOf(Error);
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    expect(await otel.value('redsem.permit.reclaims')).to.equal(1);
    expect(await otel.value('redsem.permit.overages')).to.equal(0);
  });

  it('keep the level right when a ticket is adopted', async () => {
    const [here, there] = [semaphore(), semaphore({ label: 'there' })];
    const handle = await here.acquire();
    const adopted = await there.adopt(handle.toJSON());
    await clock.advance(500);
    expect(await otel.value('redsem.permit.count')).to.equal(1);
    await adopted.release();
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    expect((await otel.times('redsem.permit.wait_time')).count).to.equal(1);
    await here.close();
  });

  it('count another limit seen under a name, once on each side', async () => {
    const handle = await semaphore({ limit: 3 }).acquire();
    await (await semaphore({ limit: 5 }).acquire()).release();
    await handle.release();
    expect(await otel.value('redsem.limit.mismatches')).to.equal(2);
  });

  it('take a handle that was garbage collected off the level', async () => {
    const handle = await semaphore().acquire();
    telemetry.drop.publish({ name: NAME, id: handle.id });
    expect(await otel.value('redsem.permit.drops')).to.equal(1);
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    await handle.release();
    expect(await otel.value('redsem.permit.count')).to.equal(0);
  });

  it('never go below zero for what began before', async () => {
    otel.stop();
    const sem = semaphore({ limit: 2 });
    const handle = await sem.acquire({ permits: 2 });
    const waiting = sem.acquire();
    await clock.advance(0);
    const later = new OtelBench(NAME);
    await handle.release();
    await clock.advance(0);
    await (await waiting).release();
    expect(await later.value('redsem.permit.count')).to.equal(0);
    expect(await later.value('redsem.permit.pending_requests')).to.equal(0);
    await later.close();
  });

  it('leave the levels at zero when stopped, and hear nothing more', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    const waiting = sem.acquire();
    await clock.advance(0);
    otel.stop();
    otel.stop();
    expect(await otel.value('redsem.permit.count')).to.equal(0);
    expect(await otel.value('redsem.permit.pending_requests')).to.equal(0);
    await handle.release();
    await clock.advance(0);
    await (await waiting).release();
    expect(await otel.times('redsem.permit.use_time')).to.deep.equal({ count: 0, sum: 0 });
  });

  it('group names where they are many', async () => {
    const grouped = new OtelBench('all keys', { groupBy: () => 'all keys' });
    await (await semaphore().acquire()).release();
    expect((await grouped.times('redsem.permit.use_time')).count).to.equal(1);
    await grouped.close();
  });

  it('have names by the conventions, with unit and description', async () => {
    const sem = semaphore({ extendEvery: 0 });
    const handle = await sem.acquire();
    await clock.advance(1500);
    await handle.release();
    const described = await otel.described();
    expect(described).to.have.length.above(5);
    for (const { name, unit, description } of described) {
      expect(name).to.match(/^redsem\.[a-z]+\.[a-z_]+$/);
      expect(unit, name).to.match(/^(?:s|\{[a-z]+\})$/);
      expect(description, name).to.match(/^[A-Z]/);
    }
  });

  it('go to the global provider unless told otherwise', async () => {
    otel.stop();
    const provider = new MeterProvider();
    metrics.setGlobalMeterProvider(provider);
    let asked = 0;
    const getMeter = provider.getMeter.bind(provider);
    provider.getMeter = (...args) => {
      asked += 1;
      return getMeter(...args);
    };
    try {
      instrument()();
      expect(asked).to.equal(1);
    } finally {
      metrics.disable();
      await provider.shutdown();
    }
  });
});
