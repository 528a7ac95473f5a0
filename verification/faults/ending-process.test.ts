import { expect } from 'chai';

import { newName } from '../../test/support/client-fixture.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import type { ShortJob } from './short-job.js';

/**
 * Milliseconds to end in. ioredis itself keeps a process alive for 2 s when it is closed without a
 * connection; a ttl is 60 s.
 */
const PATIENCE = 6000;

describeWithServer('a process that has done its work ends by itself', (server) => {
  let worker: WorkerProcess | undefined;

  afterEach('end a worker that did not end', async () => {
    worker?.kill();
    await server().restart();
  });

  const clients = ['redis', 'ioredis'] as const;
  const endings = ['released', 'not released', 'the server away'] as const;
  const jobs = clients.flatMap((client) => endings.map((ending) => ({ client, ending })));
  // Memory has neither a server nor subscribers.
  const inMemory = { client: 'memory', ending: 'not released' } as const;

  for (const { client, ending } of [...jobs, inMemory]) {
    it(`${ending}, with its client closed, but no semaphore (${client})`, async () => {
      const name = newName();
      const job: ShortJob = { client, url: server().url, name, ending };
      worker = startWorker(new URL('short-job.ts', import.meta.url), job);
      if (ending === 'the server away') {
        await worker.next('holding');
        await server().kill();
        worker.send({ type: 'continue' });
      }
      await expectEnd(worker);
      if (ending === 'the server away') return;
      // A permit that no process gave back comes back when its ttl is over.
      const left = ending === 'not released' && client !== 'memory' ? 1 : 0;
      expect(await new StoredSemaphore(server(), name).tickets()).to.have.length(left);
    });
  }
});

/** It ends by itself, without an error, soon after it has said that it is done. */
async function expectEnd(worker: WorkerProcess): Promise<void> {
  await worker.next('done');
  const timer = setTimeout(() => worker.kill('SIGTERM'), PATIENCE);
  const exit = await worker.exited;
  clearTimeout(timer);
  expect(exit, worker.output).to.deep.equal({ code: 0, signal: null });
  expect(worker.output).to.equal('');
}
