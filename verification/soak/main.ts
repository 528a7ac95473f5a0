// npm run soak [-- --minutes N]: ends with 1 when a figure grew or a timer, key or listener stayed.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Redis } from 'ioredis';

import { killOwned } from '../../test/support/owned-processes.js';
import { startServer } from '../../test/support/redis-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { markdownTable } from '../support/markdown-table.js';
import type { WorkerArguments, WorkerSample } from './worker.js';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
});

const REPORT = 'docs/evidence/soak.md';
const [PROCESSES, WAITERS, LIMIT] = [4, 1000, 50];
/** Between two samples, in milliseconds. */
const PERIOD = 10_000;
/** The first part of a run, in which caches and pools fill. */
const WARM_UP = 0.3;
/** Growth over the rest of the run, as a share of the mean, above which a figure grows. */
const MOST_GROWTH = 0.05;
/** Below this much in all, growth cannot be distinguished from noise: MiB, or pieces. */
const LEAST_GROWTH = 3;

/** The figures of one moment, in MiB or pieces. */
type Sample = Readonly<Record<string, number>>;

try {
  await main(Number(options.minutes));
} finally {
  killOwned();
}

async function main(minutes: number): Promise<void> {
  const server = await startServer();
  const redis = new Redis(server.url);
  const workers = Array.from({ length: PROCESSES }, (_, index) => {
    const kind = index % 2 === 0 ? 'redis' : 'ioredis';
    const args: WorkerArguments = { kind, url: server.url, limit: LIMIT, waiters: WAITERS };
    return startWorker(new URL('worker.ts', import.meta.url), args, ['--expose-gc']);
  });
  await Promise.all(workers.map((worker) => worker.next('ready')));
  const { samples, done } = await collect(workers, redis, minutes * 60_000);
  const left = await finish(workers, redis);
  redis.disconnect();
  await server.stop();
  const settled = samples.slice(Math.floor(samples.length * WARM_UP));
  const names = Object.keys(settled[0] ?? {});
  const figures = names.map((name) => growthOf(settled.map((sample) => sample[name] ?? 0)));
  const rows = names.map((name, i) => [name, ...(figures[i]?.cells ?? [])]);
  const text = `# Soak

Written by \`npm run soak\`. ${PROCESSES} processes with ${WAITERS} waiters each, limit ${LIMIT}, ${minutes} minutes, Node ${process.versions.node}.

${done} Memory is in MiB, everything else in pieces. The first ${100 * WARM_UP} % of the samples are left out, because pools and caches fill at first.
Growth: twice the difference between the means of the two halves. A figure grows when that is more than ${100 * MOST_GROWTH} % of its mean, and more than ${LEAST_GROWTH}.

${markdownTable(['figure', 'first', 'last', 'mean', 'growth', 'grows'], rows)}

After \`close()\` in every worker:

${left.map(([what, count]) => `- ${what}: ${count}`).join('\n')}
`;
  writeFileSync(REPORT, text);
  console.log(text);
  const isClean = left.every(([, count]) => count === 0);
  if (!isClean || figures.some(({ grows }) => grows)) process.exitCode = 1;
}

/** `done`: the sum of the workers' calls. */
async function collect(workers: readonly WorkerProcess[], redis: Redis, duration: number) {
  const started = performance.now();
  const samples: Sample[] = [];
  let ofWorkers: WorkerSample[] = [];
  while (performance.now() - started < duration) {
    await sleep(PERIOD);
    const messages = await ask(workers, 'sample');
    ofWorkers = messages.map(({ data }) => data).filter(isSample);
    const owners = ofWorkers.map(({ figures }, i) => [`worker ${i + 1}`, figures] as const);
    const all = [...owners, ['server', await serverFigures(redis)] as const];
    const named = all.flatMap(([owner, figures]) =>
      Object.entries(figures).map(([name, value]) => [`${owner}: ${name}`, value] as const),
    );
    samples.push(Object.fromEntries(named));
  }
  const [grants, refusals] = (['grants', 'refusals'] as const).map((of) =>
    ofWorkers.reduce((sum, sample) => sum + sample[of], 0).toLocaleString('en'),
  );
  const done = `${samples.length} samples; ${grants} permits granted, ${refusals} waits that timed out or were aborted.`;
  return { samples, done };
}

function isSample(data: unknown): data is WorkerSample {
  return typeof data === 'object' && data !== null && 'figures' in data;
}

function growthOf(points: readonly number[]) {
  const half = Math.floor(points.length / 2);
  const mean = average(points);
  const grown = 2 * (average(points.slice(-half)) - average(points.slice(0, half)));
  const grows = grown > MOST_GROWTH * mean && grown > LEAST_GROWTH;
  const cells = [points[0] ?? 0, points.at(-1) ?? 0, mean, grown].map((value) => value.toFixed(2));
  return { grows, cells: [...cells, grows ? '**yes**' : 'no'] };
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A worker answers by a message of the same type. */
function ask(workers: readonly WorkerProcess[], type: string) {
  for (const worker of workers) worker.send({ type });
  return Promise.all(workers.map((worker) => worker.next(type)));
}

async function serverFigures(redis: Redis): Promise<Sample> {
  const info = await redis.info();
  const read = (field: string): number =>
    Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  return {
    'memory in use': read('used_memory') / 2 ** 20,
    resident: read('used_memory_rss') / 2 ** 20,
    keys: await redis.dbsize(),
    clients: read('connected_clients'),
    channels: (await redis.pubsub('CHANNELS')).length,
  };
}

async function finish(workers: readonly WorkerProcess[], redis: Redis) {
  const messages = await ask(workers, 'end');
  await Promise.all(workers.map(({ exited }) => exited));
  const keys = (await redis.keys('*')).filter((key) => !key.endsWith(':info'));
  // Without tickets, `tickets` stays for a day, with one member that is no ticket.
  const inUse = await Promise.all(
    keys.map(async (key) => !key.endsWith(':tickets') || (await redis.zcard(key)) > 1),
  );
  return [
    ['timers of semaphores', messages.reduce((sum, { data }) => sum + Number(data), 0)],
    ['keys in use, but for `info`', inUse.filter(Boolean).length],
    ['channels with a listener', (await redis.pubsub('CHANNELS')).length],
  ] as const;
}
