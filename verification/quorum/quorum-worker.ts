import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { Semaphore } from '../../src/index.js';
import type { SingleTarget } from '../../src/targets.js';
import { type Interval, machineTime } from '../processes/hold-intervals.js';
import { type ClientKind, openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { countingConnection } from '../../test/quorum/counting-connection.js';
import type { Job, JobResult } from './quorum-pool.js';

const { kind, urls } = workerArguments<{ kind: ClientKind; urls: readonly string[] }>();
const clients = await Promise.all(urls.map(async (url) => openClient(kind, url)));

onMessage('run', (data) => void reportRun(data as Job));
report('ready');

async function reportRun(job: Job): Promise<void> {
  const result: JobResult = await run(job).catch((error: unknown) => ({ error: inspect(error) }));
  report('result', result);
}

async function run(job: Job): Promise<JobResult> {
  const counted = clients.map(({ target }) => countingConnection(target as SingleTarget));
  const targets = counted.map(({ connection }) => connection);
  const sem = new Semaphore(targets, job.name, { limit: job.limit, ttl: 30_000 });
  const work = Array.from({ length: job.contenders }, () => contend(sem, job));
  const intervals = (await Promise.all(work)).flat();
  await sem.close();
  return { intervals, tries: counted[0]?.tries() ?? 0, calls: counted[0]?.calls() ?? 0 };
}

async function contend(sem: Semaphore, { rounds, hold, permits }: Job): Promise<Interval[]> {
  const intervals: Interval[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const handle = await sem.acquire({ timeout: 20_000, permits: permits ?? 1 });
    const from = machineTime();
    await sleep(hold);
    handle.assertHeld();
    const to = machineTime();
    await handle.release();
    const { id, slots, fencingToken: token } = handle;
    intervals.push(...slots.map((slot) => ({ id, slot, token, from, to, level: 0 })));
  }
  return intervals;
}
