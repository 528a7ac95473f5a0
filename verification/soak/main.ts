// npm run soak [-- --minutes N]: ends with 1 when something grew or stayed behind.
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Redis } from 'ioredis';

import { killOwned } from '../../test/support/owned-processes.js';
import { startServer } from '../../test/support/redis-server.js';
import { startWorker, type WorkerProcess } from '../../test/support/worker-process.js';
import { markdownTable } from '../support/markdown-table.js';
import { growthOf, type Sample } from './growth.js';
import type { WorkerArguments, WorkerSample } from './worker.js';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '10' } },
});

const REPORT = 'docs/evidence/soak.md';
const [PROCESSES, WAITERS, LIMIT] = [4, 1000, 50];
/** Between two samples, in milliseconds. */
const PERIOD = 10_000;

try {
  await main(Number(options.minutes));
} finally {
  killOwned();
}

async function main(minutes: number): Promise<void> {
  const server = await startServer();
  const redis = new Redis(server.url);
  const workers = await startWorkers(server.url);
  const { samples, done } = await collect(workers, redis, minutes * 60_000);
  const left = await finish(workers, redis);
  redis.disconnect();
  await server.stop();
  const figures = growthOf(samples);
  const head = ['figure', 'first', 'last', 'mean', 'slope a minute', 'in all', 'grows'];
  const rows = figures.map(({ name, values, growth, grows }) => {
    const cells = values.map((value) => value.toFixed(2));
    return [name, ...cells, `${(growth * 100).toFixed(1)} %`, grows ? '**yes**' : 'no'];
  });
  const text = `# Soak

Written by \`npm run soak\`. ${PROCESSES} processes with ${WAITERS} waiters each, limit ${LIMIT}, ${minutes} minutes, Node ${process.versions.node}.

${done} Memory is in MiB, everything else in pieces. The first part, in which pools and caches fill, is left out. Slope: least squares.

${markdownTable(head, rows)}

After \`close()\` in every worker:

${left.map(([what, count]) => `- ${what}: ${count}`).join('\n')}
`;
  writeFileSync(REPORT, text);
  console.log(text);
  const isClean = left.every(([, count]) => count === 0);
  if (!isClean || figures.some(({ grows }) => grows)) process.exitCode = 1;
}

async function startWorkers(url: string): Promise<WorkerProcess[]> {
  const workers = Array.from({ length: PROCESSES }, (_, index) => {
    const kind = index % 2 === 0 ? 'redis' : 'ioredis';
    const task: WorkerArguments = { kind, url, name: 'soak', limit: LIMIT, waiters: WAITERS };
    // Each worker collects its garbage before it is measured.
    return startWorker(new URL('worker.ts', import.meta.url), task, ['--expose-gc']);
  });
  await Promise.all(workers.map((worker) => worker.next('ready')));
  return workers;
}

/** `done`: the sum of the workers' calls. */
async function collect(
  workers: readonly WorkerProcess[],
  redis: Redis,
  duration: number,
): Promise<{ samples: Sample[]; done: string }> {
  const started = performance.now();
  const samples: Sample[] = [];
  let ofWorkers: WorkerSample[] = [];
  while (performance.now() - started < duration) {
    await sleep(PERIOD);
    const messages = await ask(workers, 'sample', 'sample');
    ofWorkers = messages.map(({ data }) => data).filter(isSample);
    const figures = [
      ...ofWorkers.flatMap((sample, i) => named(`worker ${i + 1}`, sample.figures)),
      ...named('server', await serverFigures(redis)),
    ];
    const at = (performance.now() - started) / 1000;
    samples.push({ at, values: Object.fromEntries(figures) });
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

function ask(workers: readonly WorkerProcess[], type: string, answer: string) {
  for (const worker of workers) worker.send({ type });
  return Promise.all(workers.map((worker) => worker.next(answer)));
}

function named(owner: string, figures: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(figures).map(([name, value]) => [`${owner}: ${name}`, value]);
}

async function serverFigures(redis: Redis): Promise<Record<string, number>> {
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
  const messages = await ask(workers, 'end', 'ended');
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
