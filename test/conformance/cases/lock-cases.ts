import { expect } from 'chai';

import type { CompositeHandle, Handle, KeyedAcquireOptions } from '../../../src/index.js';
import {
  acquireAll,
  AcquireTimeoutError,
  ClosedError,
  HandleLostError,
  KeyedSemaphore,
  MemoryBackend,
  ReadWriteLock,
  Semaphore,
} from '../../../src/index.js';
import { errorOf, reasonOf } from '../../support/rejection.js';
import { caseGroup, type Scope, underKey, untilHeld, untilLost, untilState } from '../scope.js';

/** Takes the locks with these letters, in this order; 0: one try. */
type Take = (letters: string, options?: number | KeyedAcquireOptions) => Promise<CompositeHandle>;

/** The same locks by either call, in this process or in another. */
const FACES: Readonly<Record<string, (scope: Scope, elsewhere?: boolean) => Take>> = {
  'a keyed mutex': (scope, elsewhere) => {
    const [here, there] = scope.keyed();
    return (letters, options) => (elsewhere ? there : here).acquire(Array.from(letters), options);
  },
  acquireAll: (scope, elsewhere) => (letters, options) =>
    acquireAll(
      Array.from(letters, (key) => underKey(scope, key, elsewhere)),
      options,
    ),
};

export const lockCases = caseGroup('mutexes, keys, and several locks as one', [], (it) => {
  for (const [face, takeOf] of Object.entries(FACES)) {
    it(`${face} takes all locks or none, and gives all back`, async (scope) => {
      const [here, there] = [takeOf(scope), takeOf(scope, true)];
      const handle = await here('cab');
      const names = ['c', 'a', 'b'].map((key) => `keyed:${scope.name}:${key}`);
      expect(handle.handles.map(({ name }) => name)).to.deep.equal(names);
      expect(handle).to.include({ held: true });
      expect(handle.expiresIn).to.be.within(1, 30_000);
      handle.assertHeld();
      await handle.extend();
      for (const letters of ['ebd', 'bd', 'db']) {
        const error = await errorOf(there(letters, 0), AcquireTimeoutError);
        expect(error).to.include({ timeout: 0, semaphore: `keyed:${scope.name}:b` });
        await untilHeld(scope, 'de', 0);
      }
      await untilHeld(scope, 'abc', 1);
      const released: string[] = [];
      for (const part of handle.handles) part.on('released', () => released.push(part.name));
      handle.on('released', () => released.push('all'));
      expect(await handle.release()).to.equal(true);
      expect(released.slice(0, 3)).to.have.members(names);
      expect(released.slice(3)).to.deep.equal(['all']);
      expect(await handle.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      await (await there('abcde', 0)).release();
    });

    it(`${face} knows of a loss once, with the first part, and leaves the others [P6]`, async (scope) => {
      const handle = await takeOf(scope)('ab');
      const [first, second] = handle.handles as [Handle, Handle];
      const losses: unknown[] = [];
      handle.on('lost', (error) => losses.push(error));
      await scope.removeTicket(second);
      const error = await errorOf(handle.extend(), HandleLostError);
      expect(error).to.include({ reason: 'missing', semaphore: `keyed:${scope.name}:b` });
      expect(error.message).to.match(/^the permit of "keyed:.*:b" \((of key "b"|handle 2 of 2)\)/);
      await scope.removeTicket(first);
      expect(handle).to.include({ held: false, expiresIn: 0 });
      expect(() => handle.assertHeld()).to.throw(HandleLostError);
      expect(await untilLost(handle)).to.equal(error);
      expect(handle.signal).to.include({ aborted: true, reason: error });
      expect(await handle.release()).to.equal(false);
      expect(losses).to.deep.equal([error]);
    });
  }

  it('an empty list holds nothing', async (scope) => {
    const [mutex] = scope.keyed();
    for (const take of [mutex.acquire([], 0), mutex.tryAcquire([]), acquireAll([], 0)]) {
      const handle = await take;
      expect(handle).to.include({ held: true, expiresIn: Infinity });
      expect(handle?.handles).to.deep.equal([]);
      expect(handle?.signal.aborted).to.equal(false);
      await handle?.extend();
      expect(await handle?.release()).to.equal(true);
      expect(handle).to.include({ held: false, expiresIn: 0 });
    }
  });

  it('two semaphores of one name are refused, because they have no common order', async (scope) => {
    await using elsewhere = new Semaphore(new MemoryBackend(), scope.name, { limit: 1 });
    const here = scope.semaphore();
    for (const other of [elsewhere, scope.semaphore()]) {
      const refused = await errorOf(acquireAll([here, other]), RangeError);
      expect(refused.message).to.include(`"${scope.name}"`);
    }
    expect(await here.inspect()).to.include({ held: 0, waiting: 0 });
  });

  it('acquireAll takes several permits of each semaphore, and asks for each once', async (scope) => {
    const [a, b] = [scope.semaphore({ limit: 3 }), scope.semaphore({}, scope.freshName())];
    const handle = await acquireAll([a, b, { semaphore: a, permits: 2 }]);
    expect(handle.handles[0]).to.equal(handle.handles[2]);
    expect(handle.handles[0]?.slots).to.deep.equal([0, 1, 2]);
    expect(await handle.release()).to.equal(true);
    const tooMany = await errorOf(acquireAll([a, { semaphore: a, permits: 3 }]), RangeError);
    expect(tooMany).to.match(/ permits: .*got 4/);
    await untilState(a, { held: 0 });
  });

  it('acquireAll is lost when a semaphore is closed, and refuses it from then on', async (scope) => {
    const [a, b] = [scope.semaphore(), scope.semaphore({}, scope.freshName())];
    const handle = await acquireAll([a, b]);
    const { signal } = handle;
    await b.close();
    expect(signal.reason).to.include({ reason: 'closed', semaphore: b.name });
    expect(String(signal.reason)).to.include(`"${b.name}" (handle 2 of 2)`);
    expect(handle.held).to.equal(false);
    await errorOf(acquireAll([a, b]), ClosedError);
    expect(await handle.release()).to.equal(false);
    await untilState(a, { held: 0 });
  });

  it('a keyed mutex takes each key once, and knows its handle, whose tokens rise [P2]', async (scope) => {
    const [mutex, other] = scope.keyed();
    const handle = await mutex.acquire(['b', 'a', 'b', 'c']);
    expect(handle).to.deep.include({ keys: ['b', 'a', 'c'], name: scope.name });
    expect(handle.handles).to.have.lengthOf(3);
    for (const key of handle.keys) expect(await other.tryAcquire(key)).to.equal(null);
    expect((await other.acquire('d')).keys).to.deep.equal(['d']);
    let last = handle.handleOf('a').fencingToken;
    await handle.release();
    for (const keys of [['a', 'b'], ['b', 'a'], 'a']) {
      const token = await mutex.use(keys, (all) => all.handleOf('a').fencingToken);
      expect(token).to.be.greaterThan(last);
      last = token;
    }
    expect(() => handle.handleOf('z')).to.throw(RangeError, 'key: expected');
  });

  it('a keyed semaphore has its own limit for each key, in all processes together', async (scope) => {
    const options = { name: scope.name, limit: (key: string) => (key === 'a' ? 2 : 1) };
    const [here, there] = scope.inBoth((at) => new KeyedSemaphore(at, options));
    const first = await here.acquire('a');
    const second = await there.acquire('a', 1000);
    expect([first.name, first.slot, second.slot]).to.deep.equal([`keyed:${scope.name}:a`, 0, 1]);
    for (const keyed of [here, there]) expect(await keyed.tryAcquire('a')).to.equal(null);
    expect(await there.use('b', ({ slot }) => slot)).to.equal(0);
    expect(await second.release()).to.equal(true);
    expect(await here.tryUse('a', () => 'done')).to.deep.equal({ ran: true, result: 'done' });
    await errorOf(there.acquire('a', { permits: 3 }), RangeError);
    await first.release();
    await (await there.acquire('a', { permits: 2 })).release();
    await untilState(underKey(scope, 'a'), { held: 0, waiting: 0 });
  });

  it('a read-write lock has readers together and a writer alone', async (scope) => {
    const [here, there] = scope.inBoth((at) => new ReadWriteLock(at, scope.name, { limit: 3 }));
    const readers = [await here.acquireRead(), await there.acquireRead(1000)];
    await errorOf(here.acquireWrite(0), AcquireTimeoutError);
    for (const reader of readers) expect(await reader.release()).to.equal(true);
    const writer = await there.acquireWrite(1000);
    expect(writer.slots).to.have.lengthOf(3);
    for (const lock of [here, there]) {
      await errorOf(lock.acquireRead(0), AcquireTimeoutError);
      await errorOf(lock.acquireWrite(0), AcquireTimeoutError);
    }
    await writer.release();
    expect(await here.read(() => 'read')).to.equal('read');
    const later = await here.write(({ fencingToken }) => fencingToken);
    expect(later).to.be.greaterThan(writer.fencingToken);
    await untilState(scope.elsewhere({ limit: 3 }), { held: 0, waiting: 0 });
  });
});

export const lockQueueCases = caseGroup('several locks as one', ['queue'], (it) => {
  // By their bytes in UTF-8 in this order; in UTF-16 the emoji comes before the second.
  const [first, second, third] = ['a', '\uffee', '\u{1f600}'] as const;

  for (const [face, takeOf] of Object.entries(FACES)) {
    it(`${face} waits in one order, and gives all back at a timeout or an abort`, async (scope) => {
      const here = takeOf(scope);
      const holder = await takeOf(scope, true)(second);
      const late = await errorOf(here(second + first + third, 60), AcquireTimeoutError);
      expect(late).to.include({ timeout: 60 });
      await untilHeld(scope, first + third, 0);
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = reasonOf(here(third + first + second, { signal }));
      await untilState(underKey(scope, second), { held: 1, waiting: 1 });
      // It holds no lock behind the lock that it waits for.
      await untilHeld(scope, first, 1);
      await untilHeld(scope, third, 0);
      controller.abort('enough');
      expect(await waiting).to.equal('enough');
      await untilHeld(scope, first + third, 0);
      await untilHeld(scope, second, 1);
      for (const letters of ['d', '']) {
        expect(await reasonOf(here(letters, { signal }))).to.equal('enough');
      }
      await untilHeld(scope, 'd', 0);
      const granted = here(third + first + second);
      await untilState(underKey(scope, second), { held: 1, waiting: 1 });
      await holder.release();
      expect(await granted).to.include({ held: true });
    });
  }
});
