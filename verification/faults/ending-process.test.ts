import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { newName } from '../../test/support/client-bench.js';
import type { ShortJob } from './fixtures/short-job.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';

/** For the process to end once its work is done, on a machine under load. */
const patience = 4000;

/** ioredis itself keeps a process alive for 2 s (`disconnectTimeout`) when it is closed without a connection. */
const ioredisFarewell = 2000;

const started = new Set<WorkerProcess>();

function start(fixture: string, args?: unknown): WorkerProcess {
  const worker = startWorker(new URL(`fixtures/${fixture}.ts`, import.meta.url), args);
  started.add(worker);
  return worker;
}

afterEach('end workers that did not end', () => {
  for (const worker of started) worker.kill();
  started.clear();
});

/** The worker ends by itself, without an error, soon after it has said that it is done. */
async function expectEnd(worker: WorkerProcess, within = patience): Promise<void> {
  await worker.next('done');
  const began = performance.now();
  const timer = setTimeout(() => worker.kill('SIGTERM'), within);
  const { code, signal } = await worker.exited;
  clearTimeout(timer);
  const took = Math.round(performance.now() - began);
  expect(
    { code, signal },
    `ended after ${took} ms\n${JSON.stringify(worker.messages)}\n${worker.output}`,
  ).to.deep.equal({ code: 0, signal: null });
}

describeWithServer('a process that has done its work ends by itself', (server) => {
  const clients = ['node-redis', 'ioredis'] as const;
  const jobs = clients.flatMap((client) => [false, true].map((wait) => ({ client, wait })));

  it('after client.quit(), without semaphore.close() (both clients)', async () => {
    const names = jobs.map(() => newName());
    const workers = jobs.map((job, i) => run({ ...job, name: names[i] ?? '', ending: 'quit' }));
    await Promise.all(workers.map((worker) => expectEnd(worker)));
    for (const name of names) await new StoredSemaphore(server(), name).expectEmpty();
  });

  it('with a handle that it never released (both clients)', async () => {
    const names = clients.map(() => newName());
    const workers = clients.map((client, i) =>
      run({ client, wait: true, name: names[i] ?? '', ending: 'still holding' }),
    );
    await Promise.all(workers.map((worker) => expectEnd(worker)));
    // The permit comes back when its ttl is over: nobody told Redis.
    for (const name of names) {
      expect(await new StoredSemaphore(server(), name).tickets()).to.have.length(1);
    }
  });

  it('with the memory backend and a handle that it never released', async () => {
    await expectEnd(
      run({ client: 'memory', name: newName(), wait: true, ending: 'still holding' }),
    );
  });

  it('with idle semaphores, which set no timer', async () => {
    const worker = start('idle-semaphore');
    expect((await worker.next('timers')).data).to.equal(0);
    await expectEnd(worker);
  });

  it('though the server is away when the client is destroyed (both clients)', async () => {
    const workers = jobs.map((job) => {
      const worker = run({ ...job, name: newName(), ending: 'destroy while the server is away' });
      return { worker, within: patience + (job.client === 'ioredis' ? ioredisFarewell : 0) };
    });
    await Promise.all(workers.map(({ worker }) => worker.next('holding')));
    await server().kill();
    for (const { worker } of workers) worker.send({ type: 'go on' });
    const ends = await Promise.allSettled(
      workers.map(({ worker, within }) => expectEnd(worker, within)),
    );
    await server().restart();
    const outcomes = ends.map((end, i) => ({
      ...jobs[i],
      end: end.status === 'rejected' ? String(end.reason) : 'by itself',
    }));
    expect(outcomes).to.deep.equal(jobs.map((job) => ({ ...job, end: 'by itself' })));
  });

  function run(job: Omit<ShortJob, 'port'>): WorkerProcess {
    return start('short-job', { ...job, port: server().port });
  }
});
