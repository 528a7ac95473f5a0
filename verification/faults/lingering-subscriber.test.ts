import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';

describeWithServer('a subscriber that was closed while it connected', (server) => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`keeps nothing alive (${kind})`, async () => {
      const { url } = server();
      worker = startWorker(new URL('closing-worker.ts', import.meta.url), { kind, url });
      expect((await worker.next('closed')).data).to.deep.equal([]);
      expect(await worker.exited).to.deep.equal({ code: 0, signal: null });
      expect(worker.output).to.equal('');
    });
  }
});
