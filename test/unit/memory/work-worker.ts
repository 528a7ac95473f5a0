import { Session } from 'node:inspector/promises';

import type { AcquireReply } from '../../../src/backend.js';
import { ManualClock } from '../../../src/manual-clock.js';
import { MemoryBackend } from '../../../src/memory/memory-backend.js';
import { parseTicketId } from '../../../src/ticket-id.js';
import { report, workerArguments } from '../../support/worker-side.js';
import type { Work, WorkArguments } from './work-report.js';

/** How many ids travel in one call. */
const BATCH = 1000;

const clock = new ManualClock();
const backend = new MemoryBackend({ clock });
const key = { prefix: 'p', name: 'jobs' };

const { sizes } = workerArguments<WorkArguments>({ sizes: [1000, 2000] });
const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
const counts: Work[] = [];
for (const size of sizes) {
  counts.push({
    waiters: await count(() => serveWaiters(size)),
    tickets: await count(() => keepTickets(size)),
    permits: await count(() => holdPermits(size)),
  });
}
report('work', counts);
process.disconnect();

/** How often the blocks of this program ran. */
async function count(work: () => Promise<void>): Promise<number> {
  await profiler.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await profiler.post('Profiler.takePreciseCoverage');
  const own = result.filter(({ url }) => url.startsWith('file:') && !url.includes('/tsx/'));
  let runs = 0;
  for (const { functions } of own)
    for (const { ranges } of functions) for (const { count: times } of ranges) runs += times;
  return runs;
}

/** They come, are asked for again, half of them leave, some lapse and come back, and the rest get the only permit in turn. */
async function serveWaiters(size: number): Promise<void> {
  const ids = idsOf('w', size);
  await acquire(['x.0'], 1);
  const arrivals = new Map<string, number | undefined>();
  for (const batch of batches(ids)) {
    const { verdicts } = await acquire(batch, 1);
    verdicts.forEach((verdict, i) => {
      if (verdict.kind === 'queued') arrivals.set(batch[i] ?? '', verdict.arrival);
    });
  }
  for (const batch of batches(ids)) await acquire(batch, 1, arrivals);
  const [leaving, staying] = [ids.filter((_, i) => i % 2 === 0), ids.filter((_, i) => i % 2 === 1)];
  for (const batch of batches(leaving)) await release(batch, 1);
  await clock.advance(6000);
  for (const batch of batches(staying.toReversed())) await acquire(batch, 1, arrivals);
  await release(['x.0'], 1);
  for (const id of staying) await release([id], 1);
}

/** All are granted at once, extended, and given back each by itself, in no order. */
async function keepTickets(size: number): Promise<void> {
  const ids = idsOf('t', size);
  for (const batch of batches(ids)) await acquire(batch, size);
  for (const batch of batches(ids)) {
    await backend.extend({ ...call(batch, size), ttl: 60_000, ids: batch });
  }
  const mixed = ids.map((_, i) => ids[(i * 7919) % size] ?? '');
  for (const id of mixed) await release([id], size);
}

/** One ticket with all permits, then with all that others left between theirs. */
async function holdPermits(size: number): Promise<void> {
  await acquire([`m.1.${size}`], size);
  await release([`m.1.${size}`], size);
  const ids = idsOf('p', size);
  for (const batch of batches(ids)) await acquire(batch, size);
  const odd = ids.filter((_, i) => i % 2 === 1);
  for (const batch of batches(odd)) await release(batch, size);
  const many = `m.2.${odd.length}`;
  await acquire([many], size);
  await release([many], size);
  for (const batch of batches(ids)) await release(batch, size);
}

function idsOf(client: string, size: number): string[] {
  return Array.from({ length: size }, (_, i) => `${client}.${i}`);
}

function* batches(ids: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
}

function call(ids: readonly string[], limit: number) {
  return { key, limit, client: parseTicketId(ids[0] ?? '')?.client ?? '' };
}

function acquire(
  ids: readonly string[],
  limit: number,
  arrivals?: ReadonlyMap<string, number | undefined>,
): Promise<AcquireReply> {
  const requests = ids.map((id) => {
    const permits = parseTicketId(id)?.permits ?? 1;
    return { id, permits, wait: true, arrival: arrivals?.get(id) };
  });
  return backend.acquire({
    ...call(ids, limit),
    ttl: 60_000,
    label: '',
    notAfter: undefined,
    requests,
  });
}

async function release(ids: readonly string[], limit: number): Promise<void> {
  await backend.release({ ...call(ids, limit), ids });
}
