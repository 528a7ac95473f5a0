import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { fake, spy } from 'sinon';

import type { AcquireCall } from '../../../src/backend.js';
import { acquireAll, AcquireTimeoutError, BackendError, ClosedError } from '../../../src/index.js';
import { type KeyedHandle, KeyedMutex, KeyedSemaphore, ManualClock } from '../../../src/index.js';
import { type Handle, MemoryBackend, Semaphore } from '../../../src/index.js';
import { CompositeHandle } from '../../../src/many/composite-handle.js';
import { stripeOf } from '../../../src/many/key-stripes.js';
import type { Share } from '../../../src/many/ordered-acquisition.js';
import { collectUntil } from '../../support/garbage.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { never, StubBackend, watch } from '../stub-backend.js';
import { granting, later } from '../stub-fixture.js';

const name = 'm';

it('a composite handle releases all of its permits, and gathers what went wrong', async () => {
  const backend = granting();
  backend.isRetryable = () => false;
  const failures = ['s1', 's0'].map((each) => new Error(`no right to ${each}`));
  backend.onRelease = (call) => {
    const failure = failures.find(({ message }) => message.endsWith(call.key.name));
    if (failure !== undefined) throw failure;
    return backend.released(call);
  };
  const semaphores = ['s0', 's1', 's2'].map((each) => new Semaphore(backend, each, { limit: 2 }));
  const handle = await acquireAll(semaphores, { clock: backend.clock });
  const released = fake();
  handle.on('released', released);
  const error = await errorOf(handle.release(), AggregateError);
  expect(error.message).to.equal(
    'releasing 2 of 3 permits failed: "s1", "s0"; each is retried, and expires within its ttl at the latest',
  );
  for (const each of error.errors) expect(each).to.be.instanceOf(BackendError);
  expect(error.errors.map(({ cause }: Error) => cause)).to.deep.equal(failures);
  expect(backend.givenBack).to.include(handle.handles[2]?.id);
  expect(await reasonOf(handle.release())).to.equal(error);
  await handle[Symbol.asyncDispose]();
  expect(released.callCount).to.equal(1);
});

it('says that a semaphore among several is paused, and that a handle of several was released', async () => {
  const backend = new MemoryBackend({ clock: new ManualClock() });
  const one = new Semaphore(backend, 'one', { limit: 1 });
  const other = new Semaphore(backend, 'other', { limit: 1 });
  const handle = await acquireAll([one, other]);
  await handle.release();
  expect(() => handle.assertHeld()).to.throw(/this handle was released; acquire a new one; see/);
  await other.setLimit(0);
  const { message } = await errorOf(acquireAll([one, other], 0), AcquireTimeoutError);
  expect(message).to.include('"other"').and.include('it is paused: its limit is 0');
});

it('looks at as many permits as a composite handle may have', () => {
  const handle = { held: true, expiresIn: 5000 } as Handle;
  const share: Share = { semaphore: {} as Semaphore, permits: 1, handle };
  const shares = Array.from({ length: 200_000 }, () => share);
  const composite = new CompositeHandle(name, [], shares);
  expect([composite.held, composite.expiresIn]).to.deep.equal([true, 5000]);
});

const LOOKS: Readonly<Record<string, (handle: KeyedHandle) => void>> = {
  held: (handle) => expect(handle.held).to.equal(false),
  assertHeld: (handle) => expect(() => handle.assertHeld()).to.throw('key "a"'),
};

for (const [look, lookAt] of Object.entries(LOOKS)) {
  it(`${look} of a composite handle checks the permits behind a lost permit, too: no warning says otherwise`, async () => {
    const clock = new ManualClock();
    const mutex = new KeyedMutex(new MemoryBackend({ clock }), { name });
    const warned = spy();
    mutex.on('warning', warned);
    await mutex.use(['a', 'b'], (handle) => {
      clock.stall(60_000);
      lookAt(handle);
    });
    await clock.advance(0);
    expect(warned.args).to.deep.equal([]);
    await mutex.close();
  });
}

describe('a keyed mutex on a backend that a test decides', () => {
  let backend: StubBackend;
  let mutex: KeyedMutex;

  beforeEach(() => {
    backend = new StubBackend();
    mutex = new KeyedMutex(backend, { name });
  });

  for (const [how, calls] of [
    ['each call for a key', [0, 4]],
    ['the only call for all', [3, 0]],
  ] as const) {
    it(`ends in time while ${how} hangs, names that as the cause, and gives back what it may have taken`, async () => {
      const acquireTogether = fake(never<undefined>);
      if (calls[0] > 0) Object.assign(backend, { acquireTogether });
      backend.onAcquire = () => never();
      const late = watch(backend.clock, mutex.acquire(['a', 'b'], 300));
      const trying = watch(backend.clock, mutex.tryAcquire(['c', 'd']));
      const once = watch(backend.clock, mutex.acquire(['e', 'f'], 0));
      await backend.clock.advance(5000);
      expect([late.at, trying.at, once.at]).to.deep.equal([300, 5000, 5000]);
      expect(late.error).to.be.instanceOf(AcquireTimeoutError);
      expect(trying.error).to.be.instanceOf(BackendError);
      for (const { error } of [late, trying, once])
        expect(String((error as Error).cause)).to.match(/no reply/);
      expect([acquireTogether.callCount, backend.ids.length]).to.deep.equal(calls);
      expect(backend.givenBack).to.include.members(backend.ids);
    });
  }

  for (const [how, acquireTogether] of [
    ['one call for all', never<undefined>],
    ['a call for each', undefined],
  ] as const) {
    it(`warns after 10 s where ${how} hangs: a try, and then a request that waits`, async () => {
      if (acquireTogether !== undefined) Object.assign(backend, { acquireTogether });
      backend.onAcquire = () => never();
      const warned = spy();
      mutex.on('warning', warned);
      const acquiring = watch(backend.clock, mutex.acquire(['a', 'b'], 11_000));
      await backend.clock.advance(9990);
      expect(warned.args).to.deep.equal([]);
      await backend.clock.advance(20);
      expect(warned.args[0]?.[0]).to.have.property('code', 'BACKEND_UNREACHABLE');
      await backend.clock.advance(1000);
      expect(acquiring.error).to.be.instanceOf(AcquireTimeoutError);
      const closing = mutex.close();
      // It waits for the calls that hang.
      await backend.clock.advance(5000);
      await closing;
    });
  }

  it('closes after the reply to a call for all, and gives back what that granted [P4]', async () => {
    const { clock } = backend;
    const late = later<void>();
    Object.assign(backend, {
      acquireTogether: (calls: AcquireCall[]) => late.promise.then(() => backend.acquire(calls)),
    });
    backend.onAcquire = (call) => backend.allGranted(call);
    const acquiring = watch(clock, mutex.acquire(['a', 'b']));
    await clock.advance(0);
    const closing = watch(clock, mutex.close());
    await clock.advance(100);
    expect(acquiring.error).to.be.instanceOf(ClosedError);
    expect(closing.done).to.equal(false);
    late.resolve();
    await clock.advance(0);
    expect(closing.at).to.equal(100);
    expect(backend.givenBack.toSorted()).to.deep.equal([...backend.ids, ...backend.ids].toSorted());
  });

  it('closes without waiting for a call for all that was given up', async () => {
    const { clock } = backend;
    Object.assign(backend, { acquireTogether: fake(never<undefined>) });
    const acquiring = watch(clock, mutex.acquire(['a', 'b'], { timeout: 7000 }));
    await clock.advance(20_000);
    expect(acquiring.error).to.be.instanceOf(AcquireTimeoutError);
    const closing = watch(clock, mutex.close());
    await clock.advance(10_000);
    expect(closing.at).to.equal(20_000);
  });

  it('says how long the only call for all had no reply, however old the process is', async () => {
    const { clock } = backend;
    Object.assign(backend, { acquireTogether: fake(never<undefined>) });
    const brief = new KeyedMutex(backend, { name, ttl: 600 });
    await clock.advance(60_000);
    const [long, short] = [mutex, brief].map((each) => watch(clock, each.tryAcquire(['a', 'b'])));
    await clock.advance(5000);
    expect(String(long?.error)).to.match(/cannot reach Redis: .*: no reply within 5000 ms;/);
    expect(String(short?.error)).to.match(/^BackendError: acquiring .*: no reply within 600 ms;/);
  });

  it('rejects when a key fails for good, and gives back what it holds', async () => {
    const failure = new Error('WRONGTYPE');
    backend.isRetryable = () => false;
    backend.onAcquire = (call) => {
      if (call.key.name.endsWith('a')) return backend.allGranted(call);
      return call.key.name.endsWith('b') ? Promise.reject(failure) : never();
    };
    const error = await errorOf(mutex.acquire(['a', 'b', 'c']), BackendError);
    expect(error.cause).to.equal(failure);
    await backend.clock.advance(0);
    expect(backend.givenBack).to.include(backend.ids[0]);
  });

  it('makes a call for all only for one plain permit each of 2 to 100 semaphores', async () => {
    const acquireTogether = fake.rejects(new Error('unexpected'));
    Object.assign(backend, { acquireTogether, setRate: never, setGroupLimit: never });
    backend.onAcquire = (call) => backend.allGranted(call);
    const two = ['a', 'b'].map((key) => {
      return { semaphore: new Semaphore(backend, key, { limit: 2 }), permits: 2 };
    });
    const ruled = [
      { rate: { permits: 100, per: 1000, burst: 10 } },
      { budgets: { tokens: { amount: 10, per: 1000 } } },
      { groupLimit: 1 },
    ].map((rule) => new KeyedMutex(backend, { name, ...rule }).acquire(['a', 'b']));
    const many = Array.from({ length: 101 }, (_, i) => `key ${i}`);
    for (const taking of [mutex.acquire(['a']), mutex.acquire(many), acquireAll(two), ...ruled])
      await (await taking).release();
    expect([acquireTogether.callCount, backend.givenBack.length]).to.deep.equal([0, 110]);
  });

  it('keeps its deadline while the backend fails, names the cause, and acquires after', async () => {
    const { clock } = backend;
    const failure = new Error('LOADING');
    backend.onAcquire = () => Promise.reject(failure);
    const late = watch(clock, mutex.acquire(['a', 'b'], 300));
    const trying = watch(clock, mutex.tryAcquire(['a', 'b']));
    const acquiring = watch(clock, mutex.acquire(['a', 'b'], 600));
    await pass(clock, 305);
    expect(late.at).to.be.within(300, 305);
    const timedOut = { timeout: 300, cause: failure };
    expect(late.error).to.be.instanceOf(AcquireTimeoutError).and.include(timedOut);
    expect(trying.error).to.be.instanceOf(BackendError).with.property('cause', failure);
    backend.onAcquire = (call) => backend.allGranted(call);
    await pass(clock, 200);
    expect(acquiring.value).to.include({ held: true });
  });
});

/** Time passes in steps, so that each try finds the result of the try before it. */
async function pass(clock: ManualClock, duration: number): Promise<void> {
  for (let passed = 0; passed < duration; passed += 5) await clock.advance(5);
}

/** XXH64 with seed 0: https://github.com/cespare/xxhash/blob/main/xxhash_test.go, and of "abc". */
const VECTORS: Readonly<Record<string, bigint>> = {
  '': 0xef46db3751d8e999n,
  abc: 0x44bc2cf5ad770999n,
  // Exactly 63 bytes, which exercises all code paths.
  'Call me Ishmael. Some years ago--never mind how long precisely-': 0x02a2e85470d6fd96n,
};

describe('stripes of keys', () => {
  it('are the published XXH64 modulo their number, of the UTF-8 bytes', () => {
    for (const stripes of [1, 2, 64, 1000, Number.MAX_SAFE_INTEGER]) {
      for (const [key, hash] of Object.entries(VECTORS)) {
        expect(stripeOf(key, stripes), key).to.equal(Number(hash % BigInt(stripes)));
      }
    }
    // By an implementation written from the specification alone: part of the wire contract.
    const unicode = ['é', '\u{1f600}', 'é'.normalize('NFD')];
    const stripes = unicode.map((key) => stripeOf(key, 1_000_003));
    expect(stripes).to.deep.equal([547489, 190926, 935235]);
  });

  it('are named with their keys in the error of a loss', async () => {
    const backend = granting();
    backend.onExtend = (call) => backend.extended(call, false);
    const handle = await new KeyedMutex(backend, { stripes: 1 }).acquire(['a', 'b']);
    const error = await reasonOf(handle.extend());
    expect(error)
      .to.have.property('message')
      .that.matches(/^the permit of "striped:default:1:0" \(of keys "a", "b"\) is lost: /);
    expect(await handle.release()).to.equal(false);
    expect(() => handle.assertHeld()).to.throw(error as Error);
  });

  it('are noted by each object, and again after twelve hours; a note counts for a day, and may fail', async () => {
    const clock = new ManualClock();
    const backend = new MemoryBackend({ clock });
    const note = spy(backend, 'noteStripes');
    let warnings = 0;
    const make = (stripes: number): KeyedMutex =>
      new KeyedMutex(backend, { stripes, extendEvery: 0 }).on('warning', () => (warnings += 1));
    const use = async (mutex: KeyedMutex, hours: number): Promise<number> => {
      await clock.advance(hours * 3_600_000 + 1);
      await mutex.use('key', () => undefined, 1000);
      return note.callCount;
    };
    const mutex = make(8);
    await mutex.acquire([]);
    const seen = [note.callCount];
    for (const hours of [0, 0, 11, 1]) seen.push(await use(mutex, hours));
    expect(seen).to.deep.equal([0, 1, 1, 1, 2]);
    await use(make(16), 23);
    await use(make(4), 25);
    backend.noteStripes = () => Promise.reject(new Error('NOPERM'));
    await use(make(2), 0);
    await clock.advance(0);
    expect(warnings).to.equal(1);
  });
});

describe('a keyed semaphore', () => {
  it('refuses a wrong limit of its function, and asks no backend', async () => {
    const stub = new StubBackend();
    const thrown = new Error('no such tenant');
    const throwing = new KeyedSemaphore(stub, { limit: fake.throws(thrown) });
    const calls = [throwing.acquire('a', 5), throwing.tryAcquire('a'), throwing.use('a', () => 1)];
    for (const call of calls) expect(await reasonOf(call)).to.equal(thrown);
    for (const [answer, error, got] of [
      ['3', TypeError, '"3" (string)'],
      [Promise.resolve(3), TypeError, 'an object of class Promise'],
      [Promise.reject(new Error('no limit')), TypeError, 'an object of class Promise'],
      [0, RangeError, '0'],
      [NaN, RangeError, 'NaN'],
    ] as const) {
      const keyed = new KeyedSemaphore(stub, { limit: () => answer as number });
      const refused = await errorOf<Error>(keyed.acquire('acme'), error);
      expect(refused).to.have.property('code', 'INVALID_ARGUMENT');
      expect(refused.message).to.match(/^limit of "acme": expected .+, got /);
      expect(refused.message).to.include(`got ${got};`);
    }
    expect(stub.acquires).to.deep.equal([]);
  });

  it('makes a try with a group and a cost', async () => {
    const budgets = { tokens: { amount: 10, per: 1000 } };
    const keyed = new KeyedSemaphore(new MemoryBackend(), { limit: 9, groupLimit: 1, budgets });
    const cost = { tokens: 9 };
    expect(await keyed.tryUse('a', () => 'ran', { cost })).to.include({ ran: true });
    expect(await keyed.tryUse('a', () => 'ran', { cost })).to.deep.equal({ ran: false });
    expect(await keyed.tryAcquire('b', { group: 'x', cost })).to.include({ held: true });
    expect(await keyed.tryAcquire('b', { group: 'x' })).to.equal(null);
    await keyed.close();
  });

  it('warns of another limit also where its first listener comes after the call that showed it', async () => {
    const backend = new MemoryBackend();
    const [one, other] = [4, 5].map((limit) => new KeyedSemaphore(backend, { limit }));
    const handles = [await one?.acquire('k'), await other?.acquire('k'), await one?.acquire('k')];
    const warned = spy();
    one?.on('warning', warned);
    await one?.use('k', () => {});
    for (const handle of handles) await handle?.release();
    await turn();
    expect(warned.args.flat()).to.have.lengthOf(1);
    expect(warned.args[0]?.[0]).to.have.property('code', 'LIMIT_MISMATCH');
    await Promise.all([one?.close(), other?.close()]);
  });

  it('gives a listener of its close no permit of another key [P8]', async () => {
    const keyed = new KeyedSemaphore(new MemoryBackend(), { limit: 1 });
    const handle = await keyed.acquire('a');
    const other = new Promise<unknown>((resolve) => {
      handle.on('lost', () => resolve(reasonOf(keyed.acquire('b'))));
    });
    await keyed.close();
    expect(await other).to.be.instanceOf(ClosedError);
  });
});

it('semaphores under keys are kept while a permit or a request needs them, and no longer', async () => {
  const keyed = new KeyedSemaphore(new MemoryBackend({ clock: new ManualClock() }), { limit: 1 });
  for (let i = 0; i < 500; i += 1) await keyed.use(`key ${i}`, () => undefined);
  /** The variables of a separate function can be collected once it has ended. */
  const holdAndWait = async (): Promise<void> => {
    const held = await keyed.acquire('held');
    const waiting = keyed.acquire('held');
    const other = await keyed.acquire('other');
    await collectUntil(() => keyed.size === 2);
    await held.release();
    await (await waiting).release();
    await other.release();
  };
  await holdAndWait();
  await collectUntil(() => keyed.size === 0);
});
