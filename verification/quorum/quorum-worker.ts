import { setTimeout as sleep } from 'node:timers/promises';

import { Semaphore } from '../../src/index.js';
import type { SingleTarget } from '../../src/clients.js';
import { type ClientKind, openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { type Interval, machineTime } from '../processes/hold-intervals.js';

/** What one worker process does with one semaphore. */
export interface Job {
  readonly name: string;
  readonly limit: number;
  /** How many callers acquire at the same time, and how often each of them does. */
  readonly contenders: number;
  readonly rounds: number;
  /** How long each holds its permits, in milliseconds. */
  readonly hold: number;
  readonly permits: number;
}

const { kind, urls } = workerArguments<{ kind: ClientKind; urls: readonly string[] }>();
const clients = await Promise.all(urls.map(async (url) => openClient(kind, url)));
const targets = clients.map(({ target }) => target as SingleTarget);

onMessage('run', (data) => void run(data as Job).then((held) => report('result', held)));
report('ready');

async function run(job: Job): Promise<Interval[]> {
  const semaphore = new Semaphore(targets, job.name, { limit: job.limit, ttl: 30_000 });
  const work = Array.from({ length: job.contenders }, () => contend(semaphore, job));
  const intervals = (await Promise.all(work)).flat();
  await semaphore.close();
  return intervals;
}

async function contend(semaphore: Semaphore, job: Job): Promise<Interval[]> {
  const intervals: Interval[] = [];
  for (let round = 0; round < job.rounds; round += 1) {
    const handle = await semaphore.acquire({ timeout: 20_000, permits: job.permits });
    const from = machineTime();
    await sleep(job.hold);
    handle.assertHeld();
    const to = machineTime();
    await handle.release();
    const { id, slots, fencingToken: token } = handle;
    intervals.push(...slots.map((slot) => ({ id, slot, token, from, to, level: 0 })));
  }
  return intervals;
}
