import { expect } from 'chai';

import type { CompositeHandle, Handle } from '../../src/index.js';
import { acquireAll, BackendError, HandleLostError, Semaphore, useAll } from '../../src/index.js';
import { reasonOf } from '../support/rejection.js';
import { warningsDuring } from '../conformance/warnings.js';
import { collectUntil } from '../support/garbage.js';
import { never, StubBackend, watch } from './stub-backend.js';

/** A handle of three semaphores, each on a backend of its own, all on one clock. */
async function three(): Promise<{ handle: CompositeHandle; backends: StubBackend[] }> {
  const backends = [new StubBackend(), new StubBackend(), new StubBackend()];
  const clock = backends[0]?.clock;
  if (clock === undefined) throw new Error('no clock');
  const semaphores = backends.map((backend, i) => {
    backend.onAcquire = (call) => backend.allGranted(call);
    return new Semaphore(backend, `s${i}`, { limit: 2, clock });
  });
  return { handle: await acquireAll(semaphores, { clock }), backends };
}

describe('a composite handle', () => {
  it('releases in the reverse of the order in which it was taken', async () => {
    const { handle, backends } = await three();
    const order: string[] = [];
    for (const backend of backends) {
      backend.onRelease = (call) => {
        order.push(call.key.name);
        return backend.released(call);
      };
    }
    expect(await handle.release()).to.equal(true);
    expect(order).to.deep.equal(['s2', 's1', 's0']);
  });

  it('releases all, and gathers what went wrong', async () => {
    const { handle, backends } = await three();
    const failures = [new Error('no rights'), new Error('wrong type')];
    for (const [i, failure] of failures.entries()) {
      const backend = backends[i];
      if (backend === undefined) continue;
      backend.isRetryable = () => false;
      backend.onRelease = () => Promise.reject(failure);
    }
    let released = 0;
    handle.on('released', () => (released += 1));
    const error = await reasonOf(handle.release());
    expect(error).to.be.instanceOf(AggregateError);
    const { errors, message } = error as AggregateError;
    expect(message).to.equal('releasing 2 of 3 permits failed');
    expect(errors.map((each: BackendError) => each.cause)).to.have.members(failures);
    for (const each of errors) expect(each).to.be.instanceOf(BackendError);
    expect(backends[2]?.givenBack).to.have.lengthOf(1);
    expect(await reasonOf(handle.release())).to.equal(error);
    await handle[Symbol.asyncDispose]();
    expect(released).to.equal(1);
  });

  it('that was found lost for a step of the wall clock stays lost when that is set back, and tells so', async () => {
    const { handle, backends } = await three();
    const clock = backends[0]?.clock;
    const told: unknown[] = [];
    handle.on('lost', (error) => told.push(error));
    clock?.stepWall(60_000);
    expect(handle.held).to.equal(false);
    clock?.stepWall(-3_600_000);
    expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
    await clock?.advance(0);
    expect(told).to.deep.equal([handle.signal.reason]);
    expect(() => handle.assertHeld()).to.throw(HandleLostError);
    await handle.release();
  });

  it('releases the others while one backend hangs', async () => {
    const { handle, backends } = await three();
    const [first, second, last] = backends;
    if (last === undefined || first === undefined) throw new Error('no backend');
    last.onRelease = () => never();
    const releasing = watch(first.clock, handle.release());
    expect(handle).to.include({ held: false, expiresIn: 0 });
    await first.clock.advance(0);
    expect(first.givenBack).to.have.lengthOf(1);
    expect(second?.givenBack).to.have.lengthOf(1);
    expect(releasing.done).to.equal(false);
    await first.clock.advance(5001);
    expect(releasing.error).to.be.instanceOf(AggregateError);
  });

  it('tells each of its listeners once, whatever one of them throws', async () => {
    const { handle, backends } = await three();
    const [first, second] = backends;
    const told: unknown[] = [];
    handle.on('lost', (error) => told.push(error));
    handle.once('lost', (error) => told.push(error));
    for (const backend of [first, second]) {
      if (backend !== undefined) backend.onExtend = (call) => backend.extended(call, false);
    }
    const error = await reasonOf(handle.extend());
    expect(error).to.be.instanceOf(HandleLostError).with.property('reason', 'missing');
    expect(told).to.deep.equal([error, error]);
    handle.on('lost', (again) => told.push(again));
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).to.deep.equal([error, error, error]);
    expect(await handle.release()).to.equal(false);
    expect(told).to.have.lengthOf(3);
  });

  it('is lost no later than its shortest lease, without a look', async () => {
    const { handle, backends } = await three();
    const [backend] = backends;
    if (backend === undefined) throw new Error('no backend');
    const { expiresIn } = handle;
    for (const each of backends) each.onExtend = () => never();
    let lostAt: number | undefined;
    handle.on('lost', () => (lostAt = backend.clock.monotonic()));
    backend.clock.stall(expiresIn + 1);
    expect(handle.held).to.equal(false);
    expect(() => handle.assertHeld()).to.throw(HandleLostError, 'ran out');
    await backend.clock.advance(1);
    expect(lostAt).to.be.a('number');
    expect(handle.signal.aborted).to.equal(true);
  });

  it('is never lost after release', async () => {
    const { handle, backends } = await three();
    let lost = 0;
    handle.on('lost', () => (lost += 1));
    const { signal } = handle;
    await handle.release();
    await backends[0]?.clock.advance(60_000);
    expect(lost).to.equal(0);
    expect(signal.aborted).to.equal(false);
    expect(() => handle.assertHeld()).to.throw(HandleLostError);
  });

  it('tells a failed release as the cause of the error of its function', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(new Error('no rights'));
    const semaphore = new Semaphore(backend, 's', { limit: 1 });
    const failure = new Error('the job failed');
    const { clock } = backend;
    const failing = useAll([semaphore], () => Promise.reject(failure), { clock });
    expect(await reasonOf(failing)).to.equal(failure);
    expect(failure.cause).to.be.instanceOf(AggregateError);
    expect(await useAll([semaphore], () => 5, { clock })).to.equal(5);
  });

  it('that was dropped is no longer extended, unless somebody would be told of a loss', async () => {
    const heard = await dropped((handle) => handle.on('lost', () => undefined));
    expect(heard.map((ref) => ref.deref() === undefined)).to.deep.equal([false, false, false]);
    const warnings = await warningsDuring(async (soFar) => {
      const gone = await dropped(() => undefined);
      const collected = (): boolean => gone.every((ref) => ref.deref() === undefined);
      await collectUntil(() => collected() && soFar.length >= 3);
    });
    const codes = warnings.map((warning) => (warning as NodeJS.ErrnoException).code);
    expect(codes).to.deep.equal(Array.from({ length: 3 }, () => 'REDSEM_HANDLE_DROPPED'));
    expect(heard.every((ref) => ref.deref() !== undefined)).to.equal(true);
  });
});

/** What a process always has, and what therefore is no garbage: the clocks with their timers. */
const kept: unknown[] = [];

/** The parts of a handle that nobody keeps, after their first extension. */
async function dropped(look: (handle: CompositeHandle) => unknown): Promise<WeakRef<Handle>[]> {
  const { handle, backends } = await three();
  kept.push(...backends.map(({ clock }) => clock));
  look(handle);
  const parts = handle.handles.map((part) => new WeakRef(part));
  await backends[0]?.clock.advance(11_000);
  return parts;
}
