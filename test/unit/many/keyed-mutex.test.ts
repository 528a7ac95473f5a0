import { expect } from 'chai';
import type { AcquireCall } from '../../../src/backends/backend.js';
import { fake, spy } from 'sinon';

import { acquireAll, AcquireTimeoutError, BackendError } from '../../../src/index.js';
import { KeyedMutex, ManualClock, MemoryBackend, Semaphore } from '../../../src/index.js';
import { stripeOf } from '../../../src/many/key-stripes.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { never, StubBackend, watch } from '../stub-backend.js';
import { later } from '../stub-fixture.js';

const name = 'm';

it('a composite handle releases all of its permits, and gathers what went wrong', async () => {
  const backend = new StubBackend();
  backend.isRetryable = () => false;
  backend.onAcquire = (call) => backend.allGranted(call);
  const failures = { s0: new Error('no rights'), s1: new Error('wrong type') };
  backend.onRelease = async (call) => {
    const { name: from } = call.key;
    if (from === 's0' || from === 's1') throw failures[from];
    return backend.released(call);
  };
  const semaphores = ['s0', 's1', 's2'].map((each) => new Semaphore(backend, each, { limit: 2 }));
  const handle = await acquireAll(semaphores, { clock: backend.clock });
  let released = 0;
  handle.on('released', () => (released += 1));
  const error = await errorOf(handle.release(), AggregateError);
  expect(error.message).to.equal(
    'releasing 2 of 3 permits failed: "s1", "s0"; each is retried, and expires within its ttl at the latest',
  );
  expect(error.errors.map((each: BackendError) => each.cause)).to.deep.equal([
    failures.s1,
    failures.s0,
  ]);
  for (const each of error.errors) expect(each).to.be.instanceOf(BackendError);
  expect(backend.givenBack).to.include(handle.handles[2]?.id);
  expect(await reasonOf(handle.release())).to.equal(error);
  await handle[Symbol.asyncDispose]();
  expect(released).to.equal(1);
});

describe('a keyed mutex on a backend that a test decides', () => {
  let backend: StubBackend;
  let mutex: KeyedMutex;

  beforeEach(() => {
    backend = new StubBackend();
    mutex = new KeyedMutex(backend, { name });
  });

  it('makes one try when the call for all keys gets no answer, and names that cause', async () => {
    const acquireTogether = fake(never<undefined>);
    const hanging = new KeyedMutex(Object.assign(backend, { acquireTogether }), { name });
    const late = watch(backend.clock, hanging.acquire(['a', 'b'], 300));
    await backend.clock.advance(300);
    expect(late.error).to.be.instanceOf(AcquireTimeoutError).with.property('attempts', 1);
    acquireTogether.resetHistory();
    const trying = watch(backend.clock, hanging.tryAcquire(['a', 'b']));
    await backend.clock.advance(5000);
    expect([trying.at, acquireTogether.callCount, backend.acquires.length]).to.eql([5300, 1, 0]);
    expect(trying.error).to.be.instanceOf(BackendError);
    const once = watch(backend.clock, hanging.acquire(['a', 'b'], 0));
    await backend.clock.advance(5000);
    expect([once.at, backend.acquires.length]).to.eql([10_300, 0]);
    for (const { error } of [late, trying, once]) {
      expect(String((error as Error).cause)).to.match(/no reply/);
    }
  });

  it('rejects at once when a key fails for good, and waits for no other key', async () => {
    const failure = new Error('WRONGTYPE');
    backend.isRetryable = () => false;
    backend.onAcquire = (call) => {
      if (call.key.name.endsWith('a')) return backend.allGranted(call);
      return call.key.name.endsWith('b') ? Promise.reject(failure) : never();
    };
    const acquiring = watch(backend.clock, mutex.acquire(['a', 'b', 'c']));
    await backend.clock.advance(0);
    expect(acquiring.error).to.be.instanceOf(BackendError).with.property('cause', failure);
    expect(backend.givenBack).to.include(backend.ids[0]);
  });

  it('holds nothing after one try in which a key gets no answer', async () => {
    backend.onAcquire = (call) =>
      call.key.name.endsWith('b') ? never() : backend.allGranted(call);
    const trying = watch(backend.clock, mutex.tryAcquire(['a', 'b', 'c']));
    await backend.clock.advance(5000);
    expect(trying.error).to.be.instanceOf(BackendError);
    expect([trying.at, backend.acquires.length]).to.deep.equal([5000, 3]);
    expect(backend.givenBack).to.include.members(backend.ids);
  });

  it('makes a call for all only for one plain permit each of 2 to 100 semaphores', async () => {
    const acquireTogether = fake.rejects(new Error('unexpected'));
    Object.assign(backend, { acquireTogether, setRate: never, setGroupLimit: never });
    backend.onAcquire = (call) => backend.allGranted(call);
    const semaphores = ['a', 'b'].map((key) => new Semaphore(backend, key, { limit: 2 }));
    const ruled = [
      { rate: { permits: 100, per: 1000, burst: 10 } },
      { budgets: { tokens: { amount: 10, per: 1000 } } },
      { groupLimit: 1 },
    ].map((rule) => new KeyedMutex(backend, { name, ...rule }));
    const many = Array.from({ length: 101 }, (_, i) => `key ${i}`);
    for (const taking of [
      mutex.acquire(['a']),
      mutex.acquire(many),
      acquireAll(semaphores.map((semaphore) => ({ semaphore, permits: 2 }))),
      ...ruled.map((each) => each.acquire(['a', 'b'])),
    ])
      await (await taking).release();
    expect([acquireTogether.callCount, backend.givenBack.length]).to.deep.equal([0, 110]);
  });

  it('keeps its deadline while the backend hangs or fails, names the cause, and acquires after', async () => {
    const failure = new Error('LOADING');
    for (const [on, cause, answer] of [
      [new KeyedMutex(backend, { name: 'silent' }), /no reply/, () => never<never>()],
      [mutex, /LOADING/, () => Promise.reject(failure)],
    ] as const) {
      backend.onAcquire = answer;
      const start = backend.clock.monotonic();
      const late = watch(backend.clock, on.acquire(['a', 'b'], 300));
      await pass(backend.clock, 305);
      expect((late.at ?? 0) - start).to.be.within(300, 305);
      expect(late.error).to.be.instanceOf(AcquireTimeoutError).with.property('timeout', 300);
      expect(String((late.error as Error).cause)).to.match(cause);
    }
    const trying = watch(backend.clock, mutex.tryAcquire(['a', 'b']));
    const acquiring = watch(backend.clock, mutex.acquire(['a', 'b'], 300));
    await pass(backend.clock, 100);
    expect(trying.error).to.be.instanceOf(BackendError).with.property('cause', failure);
    backend.onAcquire = (call) => backend.allGranted(call);
    await pass(backend.clock, 200);
    expect(acquiring.value).to.include({ held: true });
  });

  for (const taken of [2, 0]) {
    it(`gives back the ${taken} permits that the call took after its time`, async () => {
      const reply = later<void>();
      const acquireTogether = async (calls: readonly AcquireCall[]) => {
        await reply.promise;
        return taken === 0 ? undefined : calls.map((call) => backend.allGranted(call));
      };
      const hanging = new KeyedMutex(Object.assign(backend, { acquireTogether }), { name });
      const trying = watch(backend.clock, hanging.tryAcquire(['a', 'b']));
      await backend.clock.advance(5000);
      expect(trying.error).to.be.instanceOf(BackendError);
      const before = backend.givenBack.length;
      reply.resolve();
      await backend.clock.advance(0);
      expect(backend.givenBack.length - before, 'behind the late reply').to.equal(taken);
    });
  }
});

/** Time passes in steps, so that each try finds the result of the try before it. */
async function pass(clock: ManualClock, duration: number): Promise<void> {
  for (let passed = 0; passed < duration; passed += 5) await clock.advance(5);
}

/**
 * XXH64 with seed 0, as published in https://github.com/cespare/xxhash/blob/main/xxhash_test.go,
 * and of "abc".
 */
const VECTORS: readonly [key: string, hash: bigint][] = [
  ['', 0xef46db3751d8e999n],
  ['a', 0xd24ec4f1a98c6e5bn],
  ['asdf', 0x415872f599cea71en],
  ['abc', 0x44bc2cf5ad770999n],
  // Exactly 63 bytes, which exercises all code paths.
  ['Call me Ishmael. Some years ago--never mind how long precisely-', 0x02a2e85470d6fd96n],
];

describe('stripes of keys', () => {
  it('are the published XXH64 modulo their number, of the UTF-8 bytes', () => {
    for (const stripes of [1, 2, 64, 1000, Number.MAX_SAFE_INTEGER]) {
      for (const [key, hash] of VECTORS) {
        expect(stripeOf(key, stripes), `${key} of ${stripes}`).to.equal(
          Number(hash % BigInt(stripes)),
        );
      }
    }
    // By an implementation written from the specification alone: part of the wire contract.
    const unicode = ['é', '\u{1f600}', 'é'.normalize('NFD')];
    const stripes = unicode.map((key) => stripeOf(key, 1_000_003));
    expect(stripes).to.deep.equal([547489, 190926, 935235]);
  });

  it('are named with their keys in the error of a loss', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
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
