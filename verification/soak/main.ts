import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Redis } from 'ioredis';

import { killOwned } from '../../test/support/owned-processes.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { figuresOf, type Leftovers, reportOf } from './report.js';
import type { Sample, ServerSample, WorkerSample, WorkerTask } from './sample.js';

const USAGE = `npm run soak -- [--minutes N] [--processes N] [--waiters N] [--report FILE]
  --minutes    how long; default: 10
  --processes  worker processes, clients of redis and of ioredis in turn; default: 4
  --waiters    waiters in each of them; default: 1000
  --report     where the figures go, as Markdown; default: docs/evidence/soak.md
Ends with 1 when something grew or stayed behind.`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    processes: { type: 'string', default: '4' },
    waiters: { type: 'string', default: '1000' },
    report: { type: 'string', default: 'docs/evidence/soak.md' },
    help: { type: 'boolean', default: false },
  },
});

/** Between two samples, in milliseconds. */
const PERIOD = 10_000;
const NAME = 'soak';
const LIMIT = 50;

if (values.help) console.log(USAGE);
else {
  try {
    await main();
  } finally {
    killOwned();
  }
}

async function main(): Promise<void> {
  const [minutes, processes, waiters] = [values.minutes, values.processes, values.waiters].map(
    Number,
  );
  const server = await startServer();
  const redis = new Redis(server.url);
  const workers = await startWorkers(server, processes ?? 4, waiters ?? 1000);
  const samples = await collect(workers, redis, (minutes ?? 10) * 60_000);
  const left = await finish(workers, redis);
  redis.disconnect();
  await server.stop();
  const figures = figuresOf(samples);
  const setting = `${processes} processes with ${waiters} waiters each, limit ${LIMIT}, ${minutes} minutes, Node ${process.versions.node}.`;
  const text = reportOf(samples, figures, left, setting);
  mkdirSync(dirname(resolve(values.report)), { recursive: true });
  writeFileSync(values.report, text);
  console.log(text);
  const clean = left.timers === 0 && left.keys.length === 0 && left.channels === 0;
  if (!clean || figures.some(({ grows }) => grows)) process.exitCode = 1;
}

async function startWorkers(
  { url }: TestServer,
  processes: number,
  waiters: number,
): Promise<WorkerProcess[]> {
  // What workers are started with; they collect their garbage before they are measured.
  process.env['NODE_OPTIONS'] = '--expose-gc';
  const workers = Array.from({ length: processes }, (_, index) => {
    const kind = index % 2 === 0 ? 'redis' : 'ioredis';
    const task: WorkerTask = { kind, url, name: NAME, limit: LIMIT, waiters };
    return startWorker(new URL('worker.ts', import.meta.url), task);
  });
  await Promise.all(workers.map((worker) => worker.next('ready')));
  return workers;
}

async function collect(
  workers: readonly WorkerProcess[],
  redis: Redis,
  duration: number,
): Promise<Sample[]> {
  const started = performance.now();
  const samples: Sample[] = [];
  while (performance.now() - started < duration) {
    await sleep(PERIOD);
    for (const worker of workers) worker.send({ type: 'sample' });
    const messages = await Promise.all(workers.map((worker) => worker.next('sample')));
    const ofWorkers = messages.map(({ data }) => data).filter(isWorkerSample);
    const at = (performance.now() - started) / 1000;
    samples.push({ at, workers: ofWorkers, server: await serverSample(redis) });
  }
  return samples;
}

async function serverSample(redis: Redis): Promise<ServerSample> {
  const info = await redis.info();
  const read = (field: string): number =>
    Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  const channels = await redis.pubsub('CHANNELS');
  return {
    used: read('used_memory'),
    resident: read('used_memory_rss'),
    keys: await redis.dbsize(),
    clients: read('connected_clients'),
    channels: channels.length,
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
  return typeof data === 'object' && data !== null && 'heap' in data;
}
