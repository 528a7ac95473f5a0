import { expect } from 'chai';
import { EventEmitter } from 'node:events';

import type { Handle } from '../../src/index.js';
import { ManualClock, Semaphore } from '../../src/index.js';
import { EmitterOnDemand } from '../../src/events.js';
import { reasonOf } from '../support/rejection.js';
import { warningsDuring } from '../support/warnings.js';
import { collectOften, collectUntil } from '../support/garbage.js';
import type { StubBackend } from './stub-backend.js';
import { granting, pushing } from './stub-fixture.js';

describe('a handle without a reference', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;
  let round = 0;

  beforeEach(() => {
    backend = granting();
    round += 1;
    semaphore = new Semaphore(backend, `dropped ${round}`, { limit: 10, ttl: 1000 });
  });

  /** A look at a handle before or after its first extension, which ends all other references. */
  async function dropped<T>(look: (handle: Handle) => T, wait = 400): Promise<T> {
    const handle = await semaphore.acquire();
    await backend.clock.advance(wait);
    const seen = look(handle);
    await backend.clock.advance(800 - wait);
    return seen;
  }

  async function warningsOf(look: (handle: Handle) => void): Promise<number> {
    const warnings = await warningsDuring(async () => {
      const ref = await dropped((handle) => {
        look(handle);
        return new WeakRef(handle);
      });
      await collectUntil(() => ref.deref() === undefined);
      // The listener of a collection is called later.
      await collectOften();
    });
    return warnings.filter(({ message }) => message.includes(semaphore.name)).length;
  }

  it('is extended no longer: its permit comes back, with one warning', async () => {
    const kept = await semaphore.acquire();
    const looked = await warningsOf((handle) => {
      const listener = (): void => {};
      for (let i = 0; i < 3; i += 1) handle.on('lost', listener).off('lost', listener);
      handle.on('released', listener);
    });
    expect(looked).to.equal(1);
    backend.extends.splice(0);
    await backend.clock.advance(5000);
    const extended = new Set(backend.extends.flatMap(({ call }) => call.ids));
    expect([...extended]).to.deep.equal([kept.id]);
  });

  it('gives no warning when it was lost before', async () => {
    backend.onExtend = (call, index) => backend.extended(call, index === 0);
    expect(await warningsOf(() => undefined)).to.equal(0);
  });

  it('is kept while it has a listener or a looked-at signal, because its loss must be reported', async () => {
    const reasons: string[] = [];
    for (const wait of [0, 400])
      await dropped((handle) => handle.on('lost', ({ reason }) => reasons.push(reason)), wait);
    const signal = await dropped((handle) => handle.signal);
    await collectOften();
    backend.onExtend = (call) => backend.extended(call, false);
    await backend.clock.advance(1000);
    expect([reasons, signal.aborted]).to.deep.equal([['missing', 'missing'], true]);
  });
});

it('a prefix and a clock that are used no more are collected', async () => {
  const backend = pushing();
  const gone: WeakRef<object>[] = [];
  const note = <T extends object>(object: T): T => {
    gone.push(new WeakRef(object));
    return object;
  };
  // The stub's list of listeners would keep them.
  backend.listen = (_client, _prefix, listener) => {
    note(listener);
    // The end of a client may give a value.
    const end: Promise<unknown> = Promise.resolve(note({}));
    return { close: () => end as Promise<void> };
  };
  const waitInVain = async (prefix: string): Promise<void> => {
    const semaphore = new Semaphore(backend, 'jobs', { limit: 1, prefix });
    const refused = reasonOf(semaphore.acquire(1000));
    await backend.clock.advance(0);
    await semaphore.close();
    await refused;
    // Timers would keep it, too.
    await backend.clock.advance(60_000);
    for (const noted of [backend.acquires, backend.releases]) noted.length = 0;
  };
  for (const prefix of ['one', 'two']) await waitInVain(prefix);
  const useOnce = (clock: ManualClock) => new Semaphore(backend, 'jobs', { limit: 1, clock });
  expect(useOnce(note(new ManualClock())).limit).to.equal(1);
  expect(gone).to.have.length(5);
  await collectUntil(() => gone.every((ref) => ref.deref() === undefined));
});

it('a handle is an emitter of Node, though it makes room only when a listener comes', () => {
  const emitter = new EmitterOnDemand();
  expect([emitter instanceof EventEmitter, Object.keys(emitter)]).to.deep.equal([true, []]);
  expect(emitter.emit('lost')).to.equal(false);
  expect(emitter.removeAllListeners().eventNames()).to.deep.equal([]);
});
