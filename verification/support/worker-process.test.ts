import { expect } from 'chai';

import { noFakeTime } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

const fixture = (name: string): URL =>
  new URL(`../../test/support/fixtures/${name}`, import.meta.url);

interface ClockReport {
  readonly now: number;
  readonly elapsed: number;
}

describe('worker process', () => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  it('gets its arguments and talks in both directions', async () => {
    worker = startWorker(fixture('echo-worker.ts'), { greeting: 'good day' });
    expect(await worker.next('greeting')).to.deep.equal({ type: 'greeting', data: 'good day' });
    worker.send({ type: 'echo', data: [1, 'two'] });
    expect((await worker.next('echoed')).data).to.deep.equal([1, 'two']);
    worker.send({ type: 'quit' });
    expect(await worker.exited).to.deep.equal({ code: 3, signal: null });
    expect(worker.messages.map(({ type }) => type)).to.include.members(['greeting', 'echoed']);
  });

  it('is killed, also while paused', async () => {
    worker = startWorker(fixture('echo-worker.ts'), { greeting: '' });
    await worker.next('greeting');
    worker.pause();
    worker.kill();
    expect(await worker.exited).to.deep.equal({ code: null, signal: 'SIGKILL' });
  });

  it('rejects a read with what the worker wrote, once it has failed', async () => {
    worker = startWorker(fixture('failing-worker.ts'));
    const error: unknown = await worker.next('never').catch((reason: unknown) => reason);
    expect(error)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/exited with code 1[^]*fails on purpose/);
  });

  it('gives the last message of a worker that ended by itself', async () => {
    worker = startWorker(fixture('quiet-worker.ts'));
    expect(await worker.exited).to.deep.equal({ code: 0, signal: null });
    expect(await worker.next('done')).to.deep.equal({ type: 'done' });
  });

  const missing = noFakeTime();
  const title = 'runs on a shifted wall clock with true timers';
  for (const offset of [60_000, -45_500]) {
    (missing === undefined ? it : it.skip)(`${title} (${offset} ms)`, async () => {
      worker = startWorker(
        fixture('echo-worker.ts'),
        { greeting: '' },
        { wallClockOffset: offset },
      );
      const { now, elapsed } = (await worker.next('clock')).data as ClockReport;
      expect(now - Date.now() - offset).to.be.within(-5000, 50);
      expect(elapsed).to.be.within(98, 5000);
    });
  }
});
