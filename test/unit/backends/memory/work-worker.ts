import { Session } from 'node:inspector/promises';

import { MemoryFixture, request } from '../../../scripts/port-fixture.js';
import { report, workerArguments } from '../../../support/worker-side.js';

/** How many ids travel in one call. */
const BATCH = 1000;

const { sizes } = workerArguments<{ sizes: readonly number[] }>({ sizes: [1000, 2000] });
const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
const counts: number[][] = [];
for (const work of [serveWaiters, keepTickets, changeLimits, passOthers]) {
  const count: number[] = [];
  for (const size of sizes) count.push(await runsDuring(() => work(size)));
  counts.push(count);
}
report('work', counts);
process.disconnect();

/** How often the blocks of this program ran. */
async function runsDuring(work: () => Promise<void>): Promise<number> {
  await profiler.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await profiler.post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => url.startsWith('file:') && !url.includes('/tsx/'));
  const blocks = own.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
  return blocks.reduce((sum, { count }) => sum + count, 0);
}

/**
 * They come, are asked for again, half of them leave, the rest lapse, come back, and get the only
 * permit in turn.
 */
async function serveWaiters(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: 1, ttl: 60_000 });
  const all = idsOf('w', size);
  await one.take('x.0');
  const places = new Map<string, number | undefined>();
  const ask = async (ids: readonly string[]): Promise<void> => {
    for (const batch of batches(ids)) {
      const asked = batch.map((id) => request(id, places.get(id) ?? 'wait'));
      const { verdicts } = await one.acquire(asked);
      verdicts.forEach((verdict, i) => {
        if (verdict.kind === 'queued') places.set(batch[i] ?? '', verdict.arrival);
      });
    }
  };
  await ask(all);
  await ask(all);
  const staying = all.filter((_, i) => i % 2 === 1);
  for (const batch of batches(all.filter((_, i) => i % 2 === 0))) await one.release(batch);
  one.pass(6000);
  await ask(staying.toReversed());
  await one.release('x.0');
  for (const id of staying) await one.release(id);
}

/**
 * One has all permits; then all are granted at once, extended, and given back each by itself, in no
 * order.
 */
async function keepTickets(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: size });
  const ids = idsOf('t', size);
  await one.take(`m.1.${size}`);
  await one.release(`m.1.${size}`);
  for (const batch of batches(ids)) await one.acquire(batch);
  for (const batch of batches(ids)) await one.extend(batch);
  for (let i = 0; i < size; i += 1) await one.release(ids[(i * 7919) % size] ?? '');
}

/** The limit is changed and tickets are revoked, and all of it is remembered. */
async function changeLimits(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: size });
  const ids = idsOf('t', size);
  for (const batch of batches(ids)) await one.acquire(batch);
  for (let i = 0; i < size; i += 1) await one.addPermits(i % 2 === 0 ? 1 : -1, `c.${i}`);
  for (const id of ids) await one.revoke(id);
}

/** They ask for more than the limit, which has shrunk; others come and go. */
async function passOthers(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: 9 });
  await one.take('x.1.9');
  for (const batch of batches(idsOf('p', size))) await one.acquire(batch.map((id) => `${id}.5`));
  await one.setLimit(3);
  await one.release('x.1.9');
  for (const id of idsOf('t', size)) {
    await one.take(id);
    await one.release(id);
  }
}

function idsOf(client: string, size: number): string[] {
  return Array.from({ length: size }, (_, i) => `${client}.${i}`);
}

function* batches(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
}
