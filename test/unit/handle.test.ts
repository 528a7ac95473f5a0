import { expect } from 'chai';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';

import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { ChannelLog } from '../telemetry/channel-log.js';
import { eventually } from '../support/eventually.js';
import { reasonOf } from '../support/rejection.js';
import { heldFixture, later, lossesOf, stubFixture } from './stub-fixture.js';

describe('a handle', () => {
  it('ignores a late reply to its extension that cannot be read', async () => {
    const { backend, clock } = await heldFixture({ ttl: 30_000 });
    const log = new ChannelLog('jobs');
    const reply = later<never[]>();
    const extend = backend.extend.bind(backend);
    backend.extend = () => {
      backend.extend = extend;
      return reply.promise;
    };
    await clock.advance(16_000);
    expect(log.of('redsem:extend'), 'a silent call and its repetition').to.have.lengthOf(2);
    reply.resolve([]);
    await clock.advance(0);
    expect(log.of('redsem:extend')).to.have.lengthOf(2);
  });

  it('whose ticket was lost before it was handed out emits lost to a listener that comes later, also after release()', async () => {
    const clock = new ManualClock();
    const semaphore = new Semaphore(new MemoryBackend({ clock }), 'x', { limit: 1 });
    const data = (await semaphore.acquire()).toJSON();
    const [former, latest] = await Promise.all([semaphore.adopt(data), semaphore.adopt(data)]);
    for (const released of [false, true]) {
      if (released) await former.release();
      const losses = lossesOf(former, clock);
      await clock.advance(0);
      expect(losses.map(([, error]) => error)).to.deep.equal([former.signal.reason]);
    }
    expect(former.signal.reason).to.include({ reason: 'missing' });
    expect([former.held, latest.held]).to.deep.equal([false, true]);
    await semaphore.close();
  });
});

describe('ending many permits or requests', () => {
  const MANY = 1200;
  /** The most that end in a turn of the event loop. */
  const FEW = 250;

  for (const [what, held, end] of [
    ['close() ends permits', true, (semaphore: Semaphore) => semaphore.close()],
    ['close() ends requests', false, (semaphore: Semaphore) => semaphore.close()],
    ['leases run out', true, (_: Semaphore, clock: ManualClock) => clock.advance(110)],
    ['deadlines pass', false, (_: Semaphore, clock: ManualClock) => clock.advance(300)],
  ] as const) {
    it(`ends some at a time, and leaves nothing, where ${what}`, async () => {
      const { backend, clock, semaphore } = stubFixture({ ttl: 1000, extendEvery: 0 });
      if (held) backend.onAcquire = (call) => backend.allGranted(call);
      let ended = 0;
      const all = Array.from({ length: MANY }, () => semaphore.acquire(300));
      for (const one of all) one.catch(() => (ended += 1));
      const handles = held ? await Promise.all(all) : [];
      for (const handle of handles) handle.on('lost', () => (ended += 1));
      await clock.advance(held ? 880 : 0);
      void end(semaphore, clock);
      for (let tick = 0; tick < 20; tick += 1) await Promise.resolve();
      // A handle is held until its turn comes.
      expect(handles.filter((handle) => handle.held).length).to.equal(held ? MANY - ended : 0);
      const turns = [ended];
      const areLeft = (): boolean => ended < MANY;
      for (let before = ended; areLeft(); before = ended) {
        await turn();
        turns.push(ended - before);
      }
      expect(Math.max(...turns)).to.be.at.most(FEW);
      await semaphore.close();
      const left = what === 'leases run out' ? 0 : MANY;
      await eventually(() => expect(new Set(backend.givenBack)).to.have.property('size', left));
      expect(clock.timers).to.equal(0);
    });
  }
});

describe('a listener that closes the object that called it', () => {
  // A permit that is granted is past its signal.
  for (const [how, when, channel, waiting] of [
    ['close', 'a request comes', 'redsem:queue', 1],
    ['close', 'a request ends', 'redsem:queue', 0],
    ['close', 'a permit is granted', 'redsem:grant', undefined],
    ['close', 'a request begins to wait', 'redsem:wait', undefined],
    ['abort', 'a request begins to wait', 'redsem:wait', undefined],
  ] as const) {
    it(`by ${how} when ${when} leaves no permit, timer or subscription`, async () => {
      const clock = new ManualClock();
      const backend = new MemoryBackend({ clock });
      let open = 0;
      const listen = backend.listen.bind(backend);
      backend.listen = (...given: Parameters<typeof listen>) => {
        const listening = listen(...given);
        open += 1;
        return { close: () => listening.close().finally(() => (open -= 1)) };
      };
      const semaphore = new Semaphore(backend, 'x', { limit: 1 });
      const other = new Semaphore(backend, 'x', { limit: 1 });
      const holder = channel === 'redsem:wait' ? await other.acquire() : undefined;
      const abort = new AbortController();
      const listener = (message: unknown): void => {
        if (waiting !== undefined && (message as { waiting: number }).waiting !== waiting) return;
        if (how === 'close') void semaphore.close();
        else abort.abort(new Error('closed by its signal'));
      };
      subscribe(channel, listener);
      const acquiring = semaphore.acquire({ timeout: 60_000, signal: abort.signal });
      expect(String(await reasonOf(acquiring))).to.match(/closed/);
      await clock.advance(0);
      unsubscribe(channel, listener);
      await holder?.release();
      expect(await other.inspect()).to.include({ held: 0 });
      await clock.advance(0);
      expect([clock.timers, open]).to.deep.equal([0, 0]);
    });
  }
});
