import { expect } from 'chai';
import { spy } from 'sinon';

import { KeyedMutex, Semaphore } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { never, StubBackend } from './stub-backend.js';

const MANY = 1200;

/** At most so many in one turn of the event loop. */
const FEW = 250;

describe('ending what many hold or wait for', () => {
  let backend: StubBackend;

  beforeEach(() => {
    backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
  });

  /** How many have ended in each turn of the event loop, until all have. */
  async function turnsUntil(ended: () => number): Promise<number[]> {
    const turns = [ended()];
    for (let before = ended(); before < MANY; before = ended()) {
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(ended() - before);
    }
    return turns;
  }

  function expectFewAtATime(turns: readonly number[]): void {
    expect(turns[0]).to.equal(FEW);
    expect(Math.max(...turns)).to.be.at.most(FEW);
  }

  it('ends some handles at a time: each is held until it is told, and all are given back', async () => {
    const semaphore = new Semaphore(backend, 'jobs', { limit: MANY });
    const handles = await Promise.all(Array.from({ length: MANY }, () => semaphore.acquire()));
    let told = 0;
    for (const handle of handles)
      handle.on('lost', ({ reason }) => (told += reason === 'closed' ? 1 : 0));
    const closing = semaphore.close();
    const held = (): number => handles.filter((handle) => handle.held).length;
    expect([told, held()]).to.deep.equal([FEW, MANY - FEW]);
    expectFewAtATime(await turnsUntil(() => told));
    await closing;
    expect(held()).to.equal(0);
    expect(new Set(backend.givenBack)).to.deep.equal(new Set(handles.map(({ id }) => id)));
    expect(backend.clock.timers).to.equal(0);
  });

  it('tells some holders at a time whose leases run out at once, and a look tells each', async () => {
    backend.onExtend = () => never();
    const semaphore = new Semaphore(backend, 'jobs', { limit: MANY, ttl: 1000 });
    const handles = await Promise.all(Array.from({ length: MANY }, () => semaphore.acquire()));
    let told = 0;
    for (const handle of handles) handle.on('lost', () => (told += 1));
    await backend.clock.advance(900);
    backend.clock.stall(100);
    void backend.clock.advance(10);
    const turns = await turnsUntil(() => told);
    expect(Math.max(...turns)).to.equal(FEW);
    expect(handles.some((handle) => handle.held)).to.equal(false);
    await semaphore.close();
  });

  it('looks at each of those holders a few times, however many they are', async () => {
    backend.onExtend = () => never();
    const count = 10 * MANY;
    const semaphore = new Semaphore(backend, 'jobs', { limit: count, ttl: 1000 });
    const handles = await Promise.all(Array.from({ length: count }, () => semaphore.acquire()));
    let told = 0;
    for (const handle of handles) handle.on('lost', () => (told += 1));
    await backend.clock.advance(900);
    const looks = spy(backend.clock, 'monotonic');
    backend.clock.stall(100);
    void backend.clock.advance(10);
    await eventually(() => expect(told).to.equal(count));
    expect(looks.callCount).to.be.below(10 * count);
    looks.restore();
    await semaphore.close();
  });

  it('rejects some waiters at a time', async () => {
    backend.onAcquire = (call) => backend.allQueued(call);
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1 });
    let rejected = 0;
    for (let i = 0; i < MANY; i += 1) semaphore.acquire().catch(() => (rejected += 1));
    await backend.clock.advance(0);
    const closing = semaphore.close();
    await Promise.resolve().then(() => Promise.resolve());
    expectFewAtATime(await turnsUntil(() => rejected));
    await closing;
    expect(new Set(backend.givenBack)).to.have.property('size', MANY);
  });

  it('gives back what is released or granted while the others are ended', async () => {
    const semaphore = new Semaphore(backend, 'jobs', { limit: 2 * MANY });
    const handles = await Promise.all(Array.from({ length: MANY }, () => semaphore.acquire()));
    backend.onAcquire = (call) => backend.allQueued(call);
    const waiting = semaphore.acquire().catch((error: unknown) => error);
    await backend.clock.advance(0);
    const closing = semaphore.close();
    const last = handles.at(-1);
    expect(await last?.release()).to.equal(true);
    await closing;
    expect(await waiting).to.have.property('code', 'CLOSED');
    expect(backend.givenBack.filter((id) => id === last?.id)).to.have.length(1);
    expect(new Set(backend.givenBack)).to.have.property('size', MANY + 1);
  });

  it('closes some locks of a keyed mutex at a time', async () => {
    const locks = new KeyedMutex(backend, {});
    let told = 0;
    const keys = Array.from({ length: MANY }, (_, i) => `key ${i}`);
    const handles = await Promise.all(keys.map((key) => locks.acquire(key)));
    for (const handle of handles) handle.on('lost', () => (told += 1));
    const closing = locks.close();
    expectFewAtATime(await turnsUntil(() => told));
    await closing;
    expect(backend.givenBack).to.have.length(MANY);
  });
});
