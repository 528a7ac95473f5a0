// npm run soak [-- --minutes N]: ends with 1 when something grew or stayed behind.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Redis } from 'ioredis';

import { killOwned } from '../../test/support/owned-processes.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { figuresOf, type Leftovers, reportOf, type Sample } from './report.js';
import { MEBIBYTE, type WorkerSample, type WorkerTask } from './task.js';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
});

const REPORT = 'docs/evidence/soak.md';
const [PROCESSES, WAITERS] = [4, 1000];
/** Between two samples, in milliseconds. */
const PERIOD = 10_000;
const NAME = 'soak';
const LIMIT = 50;

try {
  await main(Number(options.minutes));
} finally {
  killOwned();
}

async function main(minutes: number): Promise<void> {
  const server = await startServer();
  const redis = new Redis(server.url);
  const workers = await startWorkers(server);
  const { samples, done } = await collect(workers, redis, minutes * 60_000);
  const left = await finish(workers, redis);
  redis.disconnect();
  await server.stop();
  const figures = figuresOf(samples);
  const setting = `${PROCESSES} processes with ${WAITERS} waiters each, limit ${LIMIT}, ${minutes} minutes, Node ${process.versions.node}.`;
  const text = reportOf(figures, left, setting, done);
  writeFileSync(REPORT, text);
  console.log(text);
  const clean = left.timers === 0 && left.keys.length === 0 && left.channels === 0;
  if (!clean || figures.some(({ grows }) => grows)) process.exitCode = 1;
}

async function startWorkers({ url }: TestServer): Promise<WorkerProcess[]> {
  const workers = Array.from({ length: PROCESSES }, (_, index) => {
    const kind = index % 2 === 0 ? 'redis' : 'ioredis';
    const task: WorkerTask = { kind, url, name: NAME, limit: LIMIT, waiters: WAITERS };
    // They collect their garbage before they are measured.
    return startWorker(new URL('worker.ts', import.meta.url), task, ['--expose-gc']);
  });
  await Promise.all(workers.map((worker) => worker.next('ready')));
  return workers;
}

/** `done`: what the workers have done in all. */
async function collect(
  workers: readonly WorkerProcess[],
  redis: Redis,
  duration: number,
): Promise<{ samples: Sample[]; done: string }> {
  const started = performance.now();
  const samples: Sample[] = [];
  let [grants, refusals] = [0, 0];
  while (performance.now() - started < duration) {
    await sleep(PERIOD);
    for (const worker of workers) worker.send({ type: 'sample' });
    const messages = await Promise.all(workers.map((worker) => worker.next('sample')));
    const ofWorkers = messages.map(({ data }) => data).filter(isWorkerSample);
    [grants, refusals] = [0, 0];
    const values: Record<string, number> = {};
    for (const [i, sample] of ofWorkers.entries()) {
      grants += sample.grants;
      refusals += sample.refusals;
      note(values, `worker ${i + 1}`, sample.figures);
    }
    note(values, 'server', await serverFigures(redis));
    samples.push({ at: (performance.now() - started) / 1000, values });
  }
  const counts = [grants, refusals].map((count) => count.toLocaleString('en'));
  const done = `${samples.length} samples in ${Math.round(samples.at(-1)?.at ?? 0)} s; ${counts[0]} permits granted, ${counts[1]} waits that timed out or were aborted.`;
  return { samples, done };
}

function note(values: Record<string, number>, of: string, figures: Record<string, number>): void {
  for (const [name, value] of Object.entries(figures)) values[`${of}: ${name}`] = value;
}

async function serverFigures(redis: Redis): Promise<Record<string, number>> {
  const info = await redis.info();
  const read = (field: string): number =>
    Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  return {
    'memory in use': read('used_memory') / MEBIBYTE,
    resident: read('used_memory_rss') / MEBIBYTE,
    keys: await redis.dbsize(),
    clients: read('connected_clients'),
    channels: (await redis.pubsub('CHANNELS')).length,
  };
}

async function finish(workers: readonly WorkerProcess[], redis: Redis): Promise<Leftovers> {
  for (const worker of workers) worker.send({ type: 'end' });
  const messages = await Promise.all(workers.map((worker) => worker.next('ended')));
  await Promise.all(workers.map(({ exited }) => exited));
  const all = (await redis.keys('*')).filter((key) => !key.endsWith(':info'));
  // Without tickets, `tickets` stays for a day, with a sign that is none.
  const inUse = await Promise.all(
    all.map(async (key) => !key.endsWith(':tickets') || (await redis.zcard(key)) > 1),
  );
  const channels = await redis.pubsub('CHANNELS');
  return {
    timers: messages.reduce((sum, { data }) => sum + Number(data), 0),
    keys: all.filter((_, i) => inUse[i]),
    channels: channels.length,
  };
}

function isWorkerSample(data: unknown): data is WorkerSample {
  return typeof data === 'object' && data !== null && 'figures' in data;
}
