import { expect } from 'chai';

import { ManualClock, MemoryBackend, Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { leftKeys } from '../processes/server-records.js';
import type { LeakArguments, Leftovers } from './leak-worker.js';

const DAY = 86_400_000;
let worker: WorkerProcess;

function start(script: string, args: unknown): void {
  worker = startWorker(new URL(script, import.meta.url), args);
}

describeWithServer('what stays behind', (server) => {
  afterEach(() => worker.kill());

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`is nothing after 10 000 cycles, 1000 timeouts and 1000 aborts (${kind})`, async () => {
      const args: LeakArguments = { kind, url: server().url, name: `leaks-${kind}` };
      start('leak-worker.ts', args);
      const { before, after, ...left } = (await worker.next('left')).data as Leftovers;
      expect(after).to.deep.equal(before);
      expect(left).to.deep.equal({ timers: 0, handles: 10_001 });
      expect(await leftKeys(server(), args.name)).to.deep.equal(['meta']);
      const life = await server().command('PTTL', `redsem:{${args.name}}:meta`);
      expect(life).to.be.within(DAY - 60_000, DAY + 60_000);
      const list = String(await server().command('CLIENT', 'LIST'))
        .trim()
        .split('\n');
      expect(list.filter((line) => !line.includes('cmd=client|list'))).to.have.lengthOf(1);
      worker.send({ type: 'end' });
      expect(await worker.exited).to.deep.equal({ code: 0, signal: null });
      expect(worker.output).to.equal('');
    });
  }
});

describe('a backend that is dropped while its semaphores are collected', () => {
  // V8 calls no FinalizationRegistry of a process any more after one was collected that had something to tell.
  it('leaves the FinalizationRegistry of everybody else working', async () => {
    start('finalization-worker.ts', {});
    expect((await worker.next('finalized')).data).to.equal(true);
    worker.kill();
  });
});

describe('a handle that is held for long', () => {
  it('gathers no listeners of its own while others come and go', async () => {
    const clock = new ManualClock();
    const sem = new Semaphore(new MemoryBackend({ clock }), 'long', { limit: 1, ttl: 300 });
    const handle = await sem.acquire();
    const listener = (): void => undefined;
    for (let job = 0; job < 8; job += 1) {
      handle.on('lost', listener).off('lost', listener);
      // Extended once or twice between two jobs.
      await clock.advance(150);
    }
    expect(handle.held).to.equal(true);
    expect(handle.eventNames().filter((event) => handle.listenerCount(event) > 1)).to.be.empty;
    await sem.close();
    expect(clock.timers).to.equal(0);
  });
});
