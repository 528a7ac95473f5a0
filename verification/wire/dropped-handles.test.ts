import { expect } from 'chai';

import { ticketsKey } from '../processes/holder-count.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import type { Dropped, DroppedArguments } from './dropped-report.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('handles that are dropped without release', (server) => {
  let worker: WorkerProcess | undefined;

  afterEach(() => worker?.kill());

  it('expire by themselves and are warned of, unless somebody would be told of their loss', async () => {
    const ttl = 2000;
    const args: DroppedArguments = { kind: 'redis', url: server().url, name: 'dropped', ttl };
    worker = startWorker(new URL('dropped-worker.ts', import.meta.url), args);
    const { ids, collected, warnings, lost } = (await worker.next('dropped')).data as Dropped;
    expect(collected).to.have.members(['plain', 'released', 'unheard']);
    expect(warnings).to.deep.equal(Array.from({ length: 3 }, () => 'REDSEM_HANDLE_DROPPED'));
    expect(lost).to.equal(0);
    const kept = [ids['listened'], ids['signalled'], ids['late']];
    await eventually(async () => {
      const live = await liveIds();
      return live.length === 3 && kept.every((id) => live.includes(id ?? ''));
    }, 'only the kept ones live');
    await server().command('DEL', ticketsKey('dropped'));
    worker.send({ type: 'lost?' });
    await worker.next('lost');
  });

  async function liveIds(): Promise<string[]> {
    const [seconds, microseconds] = (await server().command('TIME')) as [string, string];
    const now = `(${seconds}${microseconds.padStart(6, '0')}`;
    return (await server().command(
      'ZRANGEBYSCORE',
      ticketsKey('dropped'),
      now,
      '+inf',
    )) as string[];
  }
});
