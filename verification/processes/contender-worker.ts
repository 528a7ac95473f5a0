import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { Semaphore } from '../../src/index.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import type { Job, JobResult } from './contender-pool.js';
import { type Interval, machineTime } from './hold-intervals.js';
import { countHolders } from './holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';

const { kind, url } = workerArguments<{ kind: ClientKind; url: string }>();
const client = await openClient(kind, url);

onMessage('run', (data) => void reportRun(data as Job));
report('ready');

async function reportRun(job: Job): Promise<void> {
  const result: JobResult = await run(job).then(
    (intervals) => ({ intervals }),
    (error: unknown) => ({ error: inspect(error) }),
  );
  report('result', result);
}

async function run(job: Job): Promise<Interval[]> {
  const { name, limit, ttl = 30_000, retry = {} } = job;
  const sem = new Semaphore(client.target, name, { limit, ttl, retry });
  const tasks = Array.from({ length: job.tasks }, async (_, nth) => {
    if (job.apart !== undefined) await sleep(nth * job.apart);
    return runTask(sem, job);
  });
  const intervals = (await Promise.all(tasks)).flat();
  await sem.close();
  return intervals;
}

async function runTask(sem: Semaphore, job: Job): Promise<Interval[]> {
  const intervals: Interval[] = [];
  for (let round = 0; round < (job.rounds ?? 1); round += 1) {
    intervals.push(await hold(sem, job));
  }
  return intervals;
}

async function hold(sem: Semaphore, job: Job): Promise<Interval> {
  const handle = await sem.acquire(job.timeout ?? 20_000);
  const from = machineTime();
  const { id, slot, fencingToken: token, expiresIn: life } = handle;
  const level = await count(client, job, 1);
  await sleep(job.hold);
  await count(client, job, -1);
  handle.assertHeld();
  const to = machineTime();
  await handle[Symbol.asyncDispose]();
  return { id, slot, token, from, to, level, life };
}

/** Where connections are cut, counting would fail or run twice. */
function count(counter: OpenClient, job: Job, change: 1 | -1): Promise<number> {
  return job.count === false ? Promise.resolve(0) : countHolders(counter, job.name, change);
}
