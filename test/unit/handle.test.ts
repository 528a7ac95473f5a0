import { expect } from 'chai';

import { HandleLostError } from '../../src/errors.js';
import type { Handle } from '../../src/handle.js';
import { Semaphore } from '../../src/semaphore.js';
import { ChannelLog } from '../telemetry/channel-log.js';
import { collectOften, collectUntil } from '../support/garbage.js';
import { never, StubBackend } from './stub-backend.js';

describe('handle', () => {
  let backend: StubBackend;
  let semaphore: Semaphore;
  let handle: Handle;

  beforeEach(async () => {
    backend = new StubBackend();
    backend.onAcquire = (call) =>
      backend.verdicts(call, () => ({ kind: 'granted', fencingToken: 9, slots: [2, 5] }));
    backend.onExtend = () => never();
    semaphore = new Semaphore(backend, 'jobs', { limit: 10, ttl: 1000 });
    handle = await semaphore.acquire({ permits: 2 });
  });

  const lose = (): Promise<void> => backend.clock.advance(1000);

  it('tells id, name, slots and token, and stays the same after its end', async () => {
    const data = { name: 'jobs', id: handle.id, slots: [2, 5], fencingToken: 9 };
    expect(handle).to.include({ name: 'jobs', slot: 2, fencingToken: 9 });
    expect(JSON.parse(JSON.stringify(handle))).to.deep.equal(data);
    await handle.release();
    expect(handle.toJSON()).to.deep.equal(data);
  });

  it('tells of its loss by event and signal, at most once', async () => {
    const told: unknown[] = [];
    handle.on('lost', (error) => told.push(error));
    const { signal } = handle;
    signal.addEventListener('abort', () => told.push(signal.reason));
    await lose();
    await backend.clock.advance(60_000);
    expect(told).to.have.length(2);
    expect(told[0]).to.be.instanceOf(HandleLostError).and.to.equal(told[1]);
    expect(handle.signal).to.equal(signal);
  });

  it('tells a listener that is added after the loss, once, not inside of on()', async () => {
    await lose();
    const told: unknown[] = [];
    handle.on('lost', (error) => told.push(error));
    expect(told).to.deep.equal([]);
    await backend.clock.advance(0);
    handle.once('lost', (error) => told.push(error));
    await backend.clock.advance(0);
    expect(told).to.have.length(2);
    expect(told[0]).to.equal(told[1]);
  });

  it('tells each listener once, also those added before and after', async () => {
    let [before, after] = [0, 0];
    handle.on('lost', () => (before += 1));
    await lose();
    handle.on('lost', () => (after += 1));
    await backend.clock.advance(0);
    handle.on('lost', () => (after += 1));
    await backend.clock.advance(0);
    expect([before, after]).to.deep.equal([1, 2]);
  });

  it('tells a listener once that was added while the loss was told', async () => {
    let inner = 0;
    handle.on('lost', () => handle.on('lost', () => (inner += 1)));
    await lose();
    await backend.clock.advance(0);
    expect(inner).to.equal(1);
  });

  it('has an aborted signal when it is first looked at after the loss', async () => {
    await lose();
    expect(handle.signal.aborted).to.equal(true);
    expect(handle.signal.reason).to.be.instanceOf(HandleLostError);
  });

  it('does not abort its signal at release', async () => {
    const { signal } = handle;
    await handle.release();
    await backend.clock.advance(60_000);
    expect([signal.aborted, handle.signal.aborted]).to.deep.equal([false, false]);
  });

  it('tells nobody of a loss after release', async () => {
    let told = 0;
    handle.on('lost', () => (told += 1));
    await handle.release();
    await semaphore.close();
    await backend.clock.advance(60_000);
    handle.on('lost', () => (told += 1));
    await backend.clock.advance(0);
    expect(told).to.equal(0);
  });

  it('says nothing of a removed listener', async () => {
    let told = 0;
    const listener = (): void => void (told += 1);
    handle.on('lost', listener);
    handle.off('lost', listener);
    await lose();
    expect(told).to.equal(0);
  });

  it('tells the other listeners and the other holders when a listener throws', async () => {
    const other = await semaphore.acquire();
    const told: string[] = [];
    const thrown = new Error('from the listener');
    handle.on('lost', () => {
      throw thrown;
    });
    handle.on('lost', () => told.push('second'));
    other.on('lost', () => told.push('other'));
    const uncaught = await uncaughtDuring(lose);
    expect(told).to.deep.equal(['second', 'other']);
    expect(uncaught).to.deep.equal([thrown]);
  });

  it('passes assertHeld while it is held, and throws the loss afterwards', async () => {
    handle.assertHeld();
    const losses: unknown[] = [];
    handle.on('lost', (error) => losses.push(error));
    await lose();
    expect(() => handle.assertHeld())
      .to.throw(HandleLostError)
      .that.equals(losses[0]);
  });

  describe('that is found lost for a step of the wall clock, which is then set back', () => {
    const looks: Readonly<Record<string, () => unknown>> = {
      held: () => handle.held,
      expiresIn: () => handle.expiresIn,
      signal: () => handle.signal,
      'assertHeld()': () => expect(() => handle.assertHeld()).to.throw(HandleLostError),
    };

    for (const [name, look] of Object.entries(looks)) {
      it(`stays lost, and tells so: ${name}`, async () => {
        const told: unknown[] = [];
        const log = new ChannelLog('jobs');
        handle.on('lost', (error) => told.push(error));
        backend.clock.stepWall(40_000);
        look();
        expect(told).to.deep.equal([]);
        backend.clock.stepWall(-3_600_000);
        expect([handle.held, handle.expiresIn]).to.deep.equal([false, 0]);
        expect(handle.signal.aborted).to.equal(true);
        await new Promise((resolve) => process.nextTick(resolve));
        expect(told).to.deep.equal([handle.signal.reason]);
        expect(told[0]).to.include({ reason: 'expired' });
        expect(() => handle.assertHeld())
          .to.throw(HandleLostError)
          .that.equals(told[0]);
        await backend.clock.advance(5000);
        expect(told).to.have.length(1);
        expect(log.of('redsem:lost')).to.have.length(1);
        log.end();
        expect(await handle.release()).to.equal(false);
      });
    }

    it('is told to nobody who released it meanwhile', async () => {
      const told: unknown[] = [];
      handle.on('lost', (error) => told.push(error));
      handle.signal.addEventListener('abort', () => told.push('aborted'));
      backend.clock.stepWall(40_000);
      expect(handle.held).to.equal(false);
      expect(await handle.release()).to.equal(false);
      await backend.clock.advance(5000);
      expect(told).to.deep.equal([]);
    });

    it('gives the error of a listener to nobody but the process', async () => {
      const thrown = new Error('listener');
      handle.on('lost', () => {
        throw thrown;
      });
      backend.clock.stepWall(40_000);
      const uncaught = await uncaughtDuring(async () => {
        expect(handle.held).to.equal(false);
        await backend.clock.advance(0);
      });
      expect(uncaught).to.deep.equal([thrown]);
    });
  });

  it('passes assertHeld no more after release', async () => {
    await handle.release();
    expect(() => handle.assertHeld())
      .to.throw(HandleLostError)
      .with.property('reason', 'closed');
  });

  it('counts down what is certain', async () => {
    const first = handle.expiresIn;
    await backend.clock.advance(100);
    expect(handle.expiresIn).to.be.closeTo(first - 100, 0.01);
  });

  it('that is dropped without release is not kept alive: its permit comes back, with a warning', async () => {
    backend.onExtend = (call) => backend.extended(call);
    const dropped = await semaphore.acquire().then(({ id }) => id);
    const warned = warningOf(dropped);
    await backend.clock.advance(400);
    await collectUntil(() => warned.seen);
    backend.extends.splice(0);
    await backend.clock.advance(5000);
    const extended = new Set(backend.extends.flatMap(({ call }) => call.ids));
    expect(extended).to.deep.equal(new Set([handle.id]));
    warned.stop();
  });

  it('that has a listener or a looked-at signal is kept alive, for it must tell of a loss', async () => {
    backend.onExtend = (call) => backend.extended(call);
    let told = 0;
    await semaphore.acquire().then((listened) => void listened.on('lost', () => (told += 1)));
    const signal = await semaphore.acquire().then((looked) => looked.signal);
    await backend.clock.advance(400);
    await collectOften();
    backend.onExtend = (call) => backend.extended(call, false);
    await backend.clock.advance(1000);
    expect(told).to.equal(1);
    expect(signal.aborted).to.equal(true);
  });

  it('that has only listeners of its release is not kept alive', async () => {
    backend.onExtend = (call) => backend.extended(call);
    const drop = async (): Promise<WeakRef<Handle>> => {
      const dropped = await semaphore.acquire();
      dropped.on('released', () => {});
      // Its first extension: from then on its holder alone keeps it.
      await backend.clock.advance(400);
      dropped.on('released', () => {});
      return new WeakRef(dropped);
    };
    const dropped = await drop();
    await collectUntil(() => dropped.deref() === undefined);
    expect(handle.held).to.equal(true);
  });

  /** Looks for the warning of the library while handles of other tests may be collected as well. */
  function warningOf(_id: string) {
    const found = { seen: false, stop: () => process.off('warning', onWarning) };
    const onWarning = (warning: Error & { code?: string }): void => {
      if (warning.code === 'REDSEM_HANDLE_DROPPED') found.seen = true;
    };
    process.on('warning', onWarning);
    return found;
  }

  /** Errors that would end the process. Mocha listens for them, too, and must not see these. */
  async function uncaughtDuring(act: () => Promise<void>): Promise<unknown[]> {
    const listeners = process.listeners('uncaughtException');
    const errors: unknown[] = [];
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => errors.push(error));
    try {
      await act();
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
    return errors;
  }
});
