import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Span } from '@opentelemetry/api';
import { context, metrics, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { expect } from 'chai';
import { spy, stub } from 'sinon';
import { KeyedMutex, MemoryBackend, Semaphore, type SemaphoreOptions } from '../../src/index.js';
import { ManualClock } from '../../src/time/manual-clock.js';
import { instrument } from '../../src/otel/index.js';
import { telemetry } from '../../src/telemetry.js';
import { collectUntil } from '../support/garbage.js';
import { OtelFixture } from './otel-fixture.js';

const NAME = 'otel';
const { ERROR, UNSET } = SpanStatusCode;

/** The span is active until the first `await`: the least that a manager of contexts can do. */
function under<T>(span: Span, body: () => T): T {
  const active = stub(context, 'active').returns(trace.setSpan(ROOT_CONTEXT, span));
  try {
    return body();
  } finally {
    active.restore();
  }
}

describe('OpenTelemetry', () => {
  let clock: ManualClock;
  let backend: MemoryBackend;
  let otel: OtelFixture;

  beforeEach(() => {
    clock = new ManualClock();
    backend = new MemoryBackend({ clock });
    otel = new OtelFixture(NAME);
  });

  function open(options: Partial<SemaphoreOptions> = {}): Semaphore {
    return new Semaphore(backend, NAME, { limit: 1, ttl: 1000, ...options });
  }

  /** How each hold ended: status, type of the error, reason of the loss. */
  function holds(): unknown[][] {
    return otel.spans('redsem hold').map(({ status, attributes }) => {
      return [status.code, attributes['error.type'], attributes['redsem.lost.reason']];
    });
  }

  it('has a level, durations, and a span each for a call and the hold that follows', async () => {
    const handle = await open({ limit: 5 }).acquire({ permits: 2, timeout: 1500 });
    const other = await open({ limit: 5 }).acquire();
    expect(await otel.counts()).to.deep.equal({ count: 3 });
    await clock.advance(2000);
    for (const one of [other, handle]) await one.release();
    expect(await otel.counts()).to.deep.equal({});
    expect(await otel.times('use_time')).to.deep.equal({ count: 2, sum: 4 });
    expect(await otel.times('wait_time')).to.deep.equal({ count: 2, sum: 0 });
    const [call, hold] = [otel.spans('redsem acquire')[0], otel.spans('redsem hold')[1]];
    const about = { 'redsem.semaphore.name': NAME, 'redsem.permits': 2 };
    const times = { 'redsem.acquire.timeout': 1.5, 'redsem.acquire.waited': 0 };
    const asked = { ...about, ...times, 'redsem.acquire.attempts': 1 };
    expect(call?.attributes).to.deep.equal(asked);
    const given = { 'redsem.slots': [0, 1], 'redsem.fencing_token': handle.fencingToken };
    expect(hold?.attributes).to.deep.equal({ ...about, ...given, 'redsem.ticket.id': handle.id });
    expect(hold?.links.map((link) => link.context)).to.deep.equal([call?.spanContext()]);
    expect([call?.status.code, hold?.status.code]).to.deep.equal([UNSET, UNSET]);
  });

  it('counts waiters; the spans are children of the span in which the caller asked', async () => {
    const sem = open();
    const first = await sem.acquire();
    const tracer = otel.providers.tracerProvider.getTracer('test');
    const callers = ['one', 'two'].map((name) => {
      const span = tracer.startSpan(name);
      return { span, handle: under(span, () => sem.acquire()) };
    });
    await clock.advance(250);
    expect(await otel.counts()).to.deep.equal({ count: 1, pending_requests: 2, waits: 2 });
    await first.release();
    for (const { handle } of callers) {
      await clock.advance(0);
      await (await handle).release();
    }
    expect(await otel.counts()).to.deep.equal({ waits: 2 });
    expect(await otel.times('wait_time')).to.deep.equal({ count: 3, sum: 0.5 });
    const expected = [undefined, ...callers.map(({ span }) => span.spanContext().spanId)];
    for (const spanName of ['redsem acquire', 'redsem hold'] as const) {
      const parents = otel.spans(spanName).map((span) => span.parentSpanContext?.spanId);
      expect(parents).to.deep.equal(expected);
    }
  });

  it('asks semaphores that it was given for their budgets and groups, until it ends', async () => {
    const budgets = { tokens: { amount: 100, per: 1000, burst: 50 } };
    const sem = open({ limit: 5, groupLimit: 3, budgets });
    const inspected = spy(sem, 'inspect');
    const failing = { name: NAME, inspect: () => Promise.reject(new Error('no answer')) };
    const gauges = new OtelFixture(NAME, { semaphores: [failing, sem] });
    await sem.acquire({ group: 'a', permits: 2, cost: { tokens: 40 } });
    await sem.acquire({ group: 'b' });
    await sem.acquire();
    const shared = { 'budget.limit[tokens]': 50, 'group.held[a]': 2, 'group.held[b]': 1 };
    const all = { count: 4, ...shared, 'budget.used[tokens]': 40, 'group.held[]': 1 };
    expect(await gauges.counts('Error: no answer')).to.deep.equal(all);
    await clock.advance(100);
    const later = { ...all, 'budget.used[tokens]': 30 };
    expect(await gauges.counts('Error: no answer')).to.deep.equal(later);
    expect(await otel.counts(), 'it was given none').to.deep.equal({ count: 4 });
    gauges.stop();
    await gauges.counts();
    expect(inspected.callCount).to.equal(2);
    const plain = new Semaphore(backend, 'plain', { limit: 2 });
    const others = new OtelFixture('plain', { semaphores: [plain] });
    for (const group of ['a', undefined]) await plain.acquire({ group });
    expect(await others.counts(), 'no group limit').to.deep.equal({ count: 2, 'group.held[a]': 1 });
  });

  it('has the same for each key of a set that is taken in one call, or refused', async () => {
    const keyed = new KeyedMutex(backend, { name: 'set' });
    const first = new OtelFixture('keyed:set:first');
    const caller = first.providers.tracerProvider.getTracer('test').startSpan('caller');
    const handle = await under(caller, () => keyed.acquire(['first', 'second']));
    expect(await first.counts()).to.deep.equal({ count: 1 });
    expect(await keyed.tryAcquire(['other', 'first'])).to.equal(null);
    await handle.release();
    expect(await first.counts()).to.deep.equal({ refusals: 1 });
    const spans = first.spans();
    const names = ['redsem acquire', 'redsem acquire', 'redsem hold'];
    expect(spans.map(({ name }) => name)).to.deep.equal(names);
    const [call, , hold] = spans;
    for (const span of [call, hold]) {
      expect(span?.parentSpanContext?.spanId).to.equal(caller.spanContext().spanId);
    }
    expect(hold?.links.map((link) => link.context)).to.deep.equal([call?.spanContext()]);
  });

  it('keeps nothing of a permit that is over, also where its call began before', async () => {
    const grants: WeakRef<object>[] = [];
    const note = (grant: unknown): void => void grants.push(new WeakRef(Object(grant) as object));
    otel.stop();
    const [sem, keyed] = [open(), new KeyedMutex(backend)];
    const holder = await sem.acquire();
    const begunBefore = sem.acquire();
    await clock.advance(0);
    void new OtelFixture(NAME);
    subscribe('redsem:grant', note);
    await holder.release();
    await clock.advance(0);
    await (await begunBefore).release();
    await (await keyed.acquire(['one', 'two'])).release();
    unsubscribe('redsem:grant', note);
    expect(grants).to.have.length(3);
    await collectUntil(() => grants.every((grant) => grant.deref() === undefined));
  });

  it('distinguishes refusals of tryAcquire from failed requests, by class of error', async () => {
    const sem = open();
    const handle = await sem.acquire();
    expect(await sem.tryAcquire()).to.equal(null);
    const late = sem.acquire(20).catch(() => undefined);
    await clock.advance(20);
    await late;
    await handle.release();
    await sem.acquire(-1).catch(() => undefined);
    // The reason of a caller may be any value.
    const own = Object.assign(new Error('no more'), { name: `Error of ${Math.random()}` });
    for (const reason of [own, 'no more', undefined]) {
      await sem.acquire({ signal: AbortSignal.abort(reason) }).catch(() => undefined);
    }
    expect(await otel.counts()).to.deep.equal({
      waits: 1,
      refusals: 1,
      'failed_requests[AcquireTimeoutError]': 1,
      'failed_requests[RangeError]': 1,
      'failed_requests[_OTHER]': 2,
      'failed_requests[AbortError]': 1,
    });
    const [, refused, timedOut] = otel.spans('redsem acquire');
    expect(refused?.status.code).to.equal(UNSET);
    expect(refused?.attributes).to.not.have.property('redsem.acquire.timeout');
    expect(timedOut?.status.code).to.equal(ERROR);
    expect(timedOut?.attributes).to.have.property('error.type', 'AcquireTimeoutError');
    expect(timedOut?.events.map(({ name }) => name)).to.deep.equal(['exception']);
  });

  it('counts losses by reason, permits that went back or may have, and holders that continued', async () => {
    const sem = open({ limit: 5, extendEvery: 0 });
    const [pair, single] = [await sem.acquire({ permits: 2 }), await sem.acquire()];
    const prompt = await sem.acquire();
    prompt.on('lost', () => void prompt.release());
    await sem.revoke(single.id);
    // The other handles are past their ttl; the loss of `single` was reported long before.
    await clock.advance(1500);
    const losses = { 'losses[revoked]': 1, 'losses[expired]': 2, reclaims: 4 };
    expect(await otel.counts()).to.deep.equal(losses);
    await Promise.all([pair.release(), single.release()]);
    const closed = await sem.acquire();
    await sem.close();
    await closed.release();
    const unnoticed = await open({ extendEvery: 0 }).acquire();
    clock.stall(1500);
    expect(await unnoticed.release()).to.equal(false);
    const refusing = Object.assign(backend, { isRetryable: () => false });
    const failing = await open().acquire();
    stub(refusing, 'release').rejects(new Error('NOPERM'));
    await failing.release().catch(() => undefined);
    const all = { ...losses, 'losses[closed]': 1, overages: 3, reclaims: 6 };
    expect(await otel.counts()).to.deep.equal(all);
    expect((await otel.times('use_time')).count).to.equal(6);
    const expired = [ERROR, 'expired', 'expired'];
    const ends = [[ERROR, 'revoked', 'revoked'], expired, expired, [UNSET, undefined, 'closed']];
    ends.push(...['expired', 'BackendError'].map((type) => [ERROR, type, undefined]));
    expect(holds()).to.deep.equal(ends);
  });

  it('counts and notes each extension that failed', async () => {
    const extend = stub(backend, 'extend').callThrough();
    for (const call of [0, 1]) extend.onCall(call).rejects(new TypeError('LOADING'));
    const handle = await open({ ttl: 3000 }).acquire();
    await clock.advance(4000);
    expect(await otel.counts()).to.deep.equal({ count: 1, 'extension_failures[TypeError]': 2 });
    await handle.release();
    const [hold] = otel.spans('redsem hold');
    const attributes = { 'exception.type': 'TypeError', 'exception.message': 'LOADING' };
    expect(hold?.events).to.have.length(2);
    expect(hold?.events[0]).to.deep.include({ name: 'redsem extension failed', attributes });
    expect(hold?.status.code).to.equal(UNSET);
  });

  it('keeps the level right for adopted and dropped tickets, and counts other limits', async () => {
    const [here, there] = [open(), open({ label: 'there' })];
    const handle = await here.acquire();
    const adopted = await there.adopt(handle.toJSON());
    const missing = { 'losses[missing]': 1, reclaims: 1 };
    expect(await otel.counts()).to.deep.equal({ count: 1, ...missing });
    await adopted.release();
    expect((await otel.times('wait_time')).count).to.equal(1);
    const ids = otel.spans('redsem hold').map(({ attributes }) => attributes['redsem.ticket.id']);
    expect(ids).to.deep.equal([handle.id, adopted.id]);
    expect(otel.spans('redsem acquire')).to.have.length(1);
    const dropped = await here.acquire();
    telemetry.drop.publish({ name: NAME, id: dropped.id });
    await (await open({ limit: 5 }).acquire()).release();
    await dropped.release();
    // The other limit once on each side.
    const dropping = { ...missing, reclaims: 2, drops: 1 };
    expect(await otel.counts()).to.deep.equal({ ...dropping, 'limit.mismatches': 2 });
  });

  it('leaves out permits from before its start, and all events after stop(): no level is below zero', async () => {
    const sem = open({ limit: 2 });
    const handle = await sem.acquire({ permits: 2 });
    const waiting = sem.acquire();
    await clock.advance(0);
    const later = new OtelFixture(NAME);
    otel.stop();
    otel.stop();
    expect(await otel.counts()).to.deep.equal({ waits: 1 });
    const spans = ['redsem acquire', 'redsem acquire', 'redsem hold'];
    expect(otel.spans().map(({ name }) => name)).to.deep.equal(spans);
    await handle.release();
    await clock.advance(0);
    await (await waiting).release();
    expect(await otel.times('use_time')).to.deep.equal({ count: 0, sum: 0 });
    expect(otel.spans()).to.have.length(3);
    expect(await later.counts()).to.deep.equal({});
  });

  it('counts once where it is instrumented twice, until the last stop(), and on each of several providers', async () => {
    const stop = instrument({ ...otel.providers, groupBy: () => 'other' });
    const other = new OtelFixture('all keys', { groupBy: () => 'all keys' });
    const handle = await open().acquire();
    for (let times = 0; times < 2; times += 1) stop();
    expect(await otel.counts()).to.deep.equal({ count: 1 });
    await handle.release();
    otel.stop();
    await open().use(() => undefined);
    for (const spanName of ['redsem acquire', 'redsem hold'] as const) {
      expect(otel.spans(spanName)).to.have.length(1);
    }
    expect((await otel.times('wait_time')).count).to.equal(1);
    expect((await other.times('use_time')).count).to.equal(2);
    const again = instrument(otel.providers);
    await open().use(() => undefined);
    expect((await otel.times('wait_time')).count).to.equal(2);
    again();
  });

  it('takes the global providers unless given others, also a tracer provider that is set later', async () => {
    otel.stop();
    const early = instrument();
    const meters = new MeterProvider();
    const getMeter = spy(meters, 'getMeter');
    metrics.setGlobalMeterProvider(meters);
    const { tracerProvider } = otel.providers;
    trace.setGlobalTracerProvider(tracerProvider);
    const stops = [early, instrument(), instrument({ tracerProvider })];
    await open().use(() => undefined);
    expect(otel.spans('redsem acquire')).to.have.length(1);
    expect(getMeter.callCount).to.equal(1);
    for (const stop of stops) stop();
    for (const api of [metrics, trace]) api.disable();
    await meters.shutdown();
  });
});
