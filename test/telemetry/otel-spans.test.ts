import type { Context, ContextManager } from '@opentelemetry/api';
import { context, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { expect } from 'chai';
import type { SemaphoreOptions } from '../../src/index.js';
import { MemoryBackend, Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { StubBackend, watch } from '../unit/stub-backend.js';
import { OtelBench } from './otel-bench.js';

const NAME = 'otel-spans';

/** Knows the active span inside `with` only and forgets it at the first `await`: the least that a manager does. */
class SynchronousContext implements ContextManager {
  #active = ROOT_CONTEXT;

  active(): Context {
    return this.#active;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    fn: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const before = this.#active;
    this.#active = active;
    try {
      return Reflect.apply<typeof thisArg, A, ReturnType<F>>(fn, thisArg, args);
    } finally {
      this.#active = before;
    }
  }

  bind<T>(_active: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}

describe('OpenTelemetry spans', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let otel: OtelBench;

  before(() => context.setGlobalContextManager(new SynchronousContext()));
  after(() => context.disable());

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    otel = new OtelBench(NAME);
  });

  afterEach(() => otel.close());

  function semaphore(options: Partial<SemaphoreOptions> = {}): Semaphore {
    return new Semaphore(backend, NAME, { limit: 1, ttl: 1000, ...options });
  }

  it('tell of a call and of the hold that follows', async () => {
    const handle = await semaphore({ limit: 2 }).acquire({ permits: 2, timeout: 1500 });
    expect(otel.spans('redsem hold')).to.have.length(0);
    await handle.release();
    const [call, hold] = [otel.span('redsem acquire'), otel.span('redsem hold')];
    expect(call.attributes).to.deep.equal({
      'redsem.semaphore.name': NAME,
      'redsem.permits': 2,
      'redsem.acquire.timeout': 1.5,
      'redsem.acquire.waited': 0,
      'redsem.acquire.attempts': 1,
    });
    expect(hold.attributes).to.deep.equal({
      'redsem.semaphore.name': NAME,
      'redsem.ticket.id': handle.id,
      'redsem.permits': 2,
      'redsem.slots': [0, 1],
      'redsem.fencing_token': handle.fencingToken,
    });
    expect(hold.links.map((link) => link.context.spanId)).to.deep.equal([
      call.spanContext().spanId,
    ]);
    expect([call.status.code, hold.status.code]).to.deep.equal([
      SpanStatusCode.UNSET,
      SpanStatusCode.UNSET,
    ]);
  });

  it('are children of the span in which the caller asked, also when another made the grant', async () => {
    const sem = semaphore();
    const tracer = otel.tracerProvider.getTracer('test');
    const inSpan = (name: string) => {
      const span = tracer.startSpan(name);
      return {
        span,
        acquire: context.with(trace.setSpan(context.active(), span), () => sem.acquire()),
      };
    };
    const [one, two] = [inSpan('one'), inSpan('two')];
    await (await one.acquire).release();
    await clock.advance(0);
    await (await two.acquire).release();
    const parents = (spanName: string): unknown[] =>
      otel.spans(spanName).map((span) => span.parentSpanContext?.spanId);
    const expected = [one, two].map(({ span }) => span.spanContext().spanId);
    expect(parents('redsem acquire')).to.deep.equal(expected);
    expect(parents('redsem hold')).to.deep.equal(expected);
  });

  it('have the error of a call that rejected, and none for a refusal', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    expect(await sem.tryAcquire()).to.equal(null);
    const late = watch(clock, sem.acquire(20));
    await clock.advance(20);
    expect(late.done).to.equal(true);
    await handle.release();
    const [, refused, failed] = otel.spans('redsem acquire');
    expect(refused?.status.code).to.equal(SpanStatusCode.UNSET);
    expect(refused?.attributes).to.not.have.property('redsem.acquire.timeout');
    expect(failed?.status.code).to.equal(SpanStatusCode.ERROR);
    expect(failed?.attributes).to.have.property('error.type', 'AcquireTimeoutError');
    expect(failed?.events.map(({ name }) => name)).to.deep.equal(['exception']);
  });

  it('end a hold with its loss, and say why', async () => {
    const sem = semaphore({ limit: 2 });
    const [first, second] = [await sem.acquire(), await sem.acquire()];
    await sem.revoke(first.id);
    await first.release();
    await sem.close();
    await second.release();
    const [revoked, closed] = otel.spans('redsem hold');
    expect(otel.spans('redsem hold')).to.have.length(2);
    expect(revoked?.status.code).to.equal(SpanStatusCode.ERROR);
    expect(revoked?.attributes).to.include({
      'error.type': 'revoked',
      'redsem.lost.reason': 'revoked',
    });
    expect(closed?.status.code).to.equal(SpanStatusCode.UNSET);
    expect(closed?.attributes).to.include({ 'redsem.lost.reason': 'closed' });
  });

  it('say of a hold that its lease had run out unnoticed, or that its release failed', async () => {
    const handle = await semaphore({ extendEvery: 0 }).acquire();
    clock.stall(1500);
    await handle.release();
    expect(otel.span('redsem hold').attributes).to.have.property('error.type', 'expired');
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    stub.isRetryable = () => false;
    stub.onRelease = () => Promise.reject(new Error('NOPERM'));
    const failing = await new Semaphore(stub, NAME, { limit: 1 }).acquire();
    const released = watch(stub.clock, failing.release());
    await stub.clock.advance(0);
    expect(released.error).to.be.instanceOf(Error);
    expect(otel.spans('redsem hold')[1]?.attributes).to.have.property('error.type', 'BackendError');
  });

  it('note each extension that failed', async () => {
    const stub = new StubBackend();
    stub.onAcquire = (call) => stub.allGranted(call);
    stub.onExtend = (call, index) =>
      index === 0 ? Promise.reject(new TypeError('LOADING')) : stub.extended(call);
    const handle = await new Semaphore(stub, NAME, { limit: 1, ttl: 3000 }).acquire();
    await stub.clock.advance(4000);
    const released = handle.release();
    await stub.clock.advance(0);
    await released;
    const { events, status } = otel.span('redsem hold');
    expect(events.map(({ name, attributes }) => ({ name, attributes }))).to.deep.equal([
      {
        name: 'redsem extension failed',
        attributes: { 'exception.type': 'TypeError', 'exception.message': 'LOADING' },
      },
    ]);
    expect(status.code).to.equal(SpanStatusCode.UNSET);
  });

  it('tell of the hold of an adopted ticket', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    const adopted = await sem.adopt(handle.toJSON());
    await adopted.release();
    const ids = otel.spans('redsem hold').map(({ attributes }) => attributes['redsem.ticket.id']);
    expect(ids).to.deep.equal([handle.id, adopted.id]);
    expect(otel.spans('redsem acquire')).to.have.length(1);
  });

  it('end when listening ends', async () => {
    const sem = semaphore();
    const handle = await sem.acquire();
    const waiting = sem.acquire();
    await clock.advance(0);
    otel.stop();
    expect(otel.spans().map(({ name }) => name)).to.deep.equal([
      'redsem acquire',
      'redsem acquire',
      'redsem hold',
    ]);
    await handle.release();
    await clock.advance(0);
    await (await waiting).release();
    expect(otel.spans()).to.have.length(3);
  });
});
