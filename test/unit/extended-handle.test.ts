import { expect } from 'chai';

import { HandleLostError } from '../../src/errors.js';
import type { Handle } from '../../src/handle.js';
import { Semaphore } from '../../src/semaphore.js';
import { collectOften, collectUntil } from '../support/garbage.js';
import { moment } from '../support/moment.js';
import { StubBackend } from './stub-backend.js';

describe('handle that was extended', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;

  beforeEach(() => {
    backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    semaphore = new Semaphore(backend, 'jobs', { limit: 10, ttl: 1000 });
  });

  async function extended(): Promise<Handle> {
    const handle = await semaphore.acquire();
    await backend.clock.advance(400);
    expect(backend.extends).to.not.have.length(0);
    return handle;
  }

  async function lose(): Promise<void> {
    backend.onExtend = (call) => backend.extended(call, false);
    await backend.clock.advance(1000);
  }

  it('tells a new listener nothing while it is held', async () => {
    const handle = await extended();
    const told: unknown[] = [];
    handle.on('lost', (error) => told.push(error));
    await backend.clock.advance(0);
    await moment(0);
    expect(told).to.deep.equal([]);
    await handle.release();
  });

  it('is kept alive from the moment at which it gets a listener', async () => {
    const told: string[] = [];
    await extended().then((handle) => void handle.on('lost', ({ reason }) => told.push(reason)));
    await collectOften();
    await lose();
    expect(told).to.deep.equal(['missing']);
  });

  it('is kept alive from the moment at which its signal is looked at', async () => {
    const signal = await extended().then((handle) => handle.signal);
    await collectOften();
    await lose();
    expect(signal.aborted).to.equal(true);
  });

  it('tells of its loss once, also after many extensions and listeners', async () => {
    const handle = await extended();
    await backend.clock.advance(2000);
    let told = 0;
    handle.on('lost', () => (told += 1));
    await backend.clock.advance(2000);
    await lose();
    await moment(0);
    expect(told).to.equal(1);
  });

  describe('and then dropped', () => {
    const warnings: string[] = [];
    const note = (warning: Error & { code?: string }): void => {
      if (warning.code === 'REDSEM_HANDLE_DROPPED') warnings.push(warning.message);
    };

    beforeEach(() => {
      // Handles of other tests are collected meanwhile.
      semaphore = new Semaphore(backend, 'dropped here', { limit: 10, ttl: 1000 });
      warnings.splice(0);
      process.on('warning', note);
    });

    afterEach(() => void process.off('warning', note));

    /** How often it was warned of a handle, when the one behind `dropped` has been collected. */
    async function warningsOf(dropped: WeakRef<Handle>): Promise<number> {
      await collectUntil(() => dropped.deref() === undefined);
      // Those that wait for its collection are told later.
      for (let i = 0; i < 3; i += 1) await collectOften();
      return warnings.filter((message) => message.includes('dropped here')).length;
    }

    it('is warned of once, also when somebody listened for a while', async () => {
      const dropped = await extended().then(async (handle) => {
        const listener = (): void => {};
        for (let i = 0; i < 3; i += 1) {
          handle.on('lost', listener);
          handle.off('lost', listener);
          await backend.clock.advance(400);
        }
        return new WeakRef(handle);
      });
      expect(await warningsOf(dropped)).to.equal(1);
    });

    it('is not warned of when it had been lost, which nobody heard', async () => {
      const dropped = await extended().then(async (handle) => {
        await lose();
        expect(handle.held).to.equal(false);
        return new WeakRef(handle);
      });
      expect(await warningsOf(dropped)).to.equal(0);
    });
  });
});

describe('handle that is asked to extend', () => {
  it('does not take the word of a call that was sent before', async () => {
    const backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    const handle = await new Semaphore(backend, 'jobs', { limit: 10, ttl: 1000 }).acquire();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    backend.onExtend = (call) => answered.then(() => backend.extended(call, true));
    await backend.clock.advance(400);
    expect(backend.extends).to.have.length(1);
    const extending = handle.extend().catch((error: unknown) => error);
    backend.onExtend = (call) => backend.extended(call, false);
    answer();
    expect(await extending).to.be.instanceOf(HandleLostError);
    expect(backend.extends).to.have.length(2);
  });
});

describe('handle in the end', () => {
  let backend: StubBackend;
  let handle: Handle;

  beforeEach(async () => {
    backend = new StubBackend();
    backend.onAcquire = (call) => backend.allGranted(call);
    handle = await new Semaphore(backend, 'jobs', { limit: 10, ttl: 1000 }).acquire();
  });

  it('is withdrawn by a release after its loss: its holder has stopped', async () => {
    backend.onExtend = (call) => backend.extended(call, false);
    await backend.clock.advance(1000);
    expect(backend.givenBack).to.deep.equal([]);
    expect(await handle.release()).to.equal(false);
    await backend.clock.advance(0);
    expect(backend.givenBack).to.deep.equal([handle.id]);
  });

  it('is disposed of when its release is confirmed, not before', async () => {
    let confirm: () => void = () => undefined;
    const confirmed = new Promise<void>((resolve) => (confirm = resolve));
    backend.onRelease = (call) => confirmed.then(() => backend.released(call));
    let disposed = false;
    const disposing = handle[Symbol.asyncDispose]().then(() => (disposed = true));
    await backend.clock.advance(10);
    expect(disposed).to.equal(false);
    confirm();
    await disposing;
    expect(disposed).to.equal(true);
  });

  it('is disposed of without an error when the backend refuses its release', async () => {
    backend.isRetryable = () => false;
    backend.onRelease = () => Promise.reject(new Error('no'));
    await handle[Symbol.asyncDispose]();
    expect(handle.held).to.equal(false);
  });
});
