import { expect } from 'chai';

import { leftKeys } from '../processes/holder-count.js';
import type { TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import type { LeakArguments, Leftovers } from './leak-report.js';

describeWithServer('what stays behind', (server) => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`is nothing after 10 000 cycles, 1000 timeouts and 1000 aborts (${kind})`, async () => {
      const name = `leaks-${kind}`;
      const args: LeakArguments = {
        kind,
        url: server().url,
        name,
        cycles: 10_000,
        refusals: 1000,
      };
      worker = startWorker(new URL('leak-worker.ts', import.meta.url), args);
      const left = (await worker.next('left')).data as Leftovers;
      expect(left.after).to.deep.equal(left.before);
      expect(left).to.include({ timers: 0, handles: 10_001, alive: 0 });
      expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
      expect(await ttlOfMeta(server(), name)).to.be.within(86_340_000, 86_460_000);
      expect(await openConnections(server())).to.equal(1);
      worker.send({ type: 'end' });
      expect(await worker.exited).to.deep.equal({ code: 0, signal: null });
      expect(worker.output).to.equal('');
    });
  }
});

async function ttlOfMeta(server: TestServer, name: string): Promise<number> {
  return Number(await server.command('PTTL', `redsem:{${name}}:meta`));
}

/** Those of clients, without the one that asks. */
async function openConnections(server: TestServer): Promise<number> {
  const list = String(await server.command('CLIENT', 'LIST'));
  return list.split('\n').filter((line) => line !== '' && !line.includes('cmd=client|list')).length;
}
