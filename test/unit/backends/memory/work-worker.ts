import { Session } from 'node:inspector/promises';

import { MemoryFixture, request } from '../../../scripts/port-fixture.js';
import { report } from '../../../support/worker-side.js';

const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
/** How often the blocks of this program run, for some numbers of waiters, tickets and permits. */
const counts: number[][] = [];
for (const work of [serveWaiters, keepTickets, passOthers]) {
  const count: number[] = [];
  for (const size of [250, 500, 1000]) {
    await profiler.post('Profiler.takePreciseCoverage');
    await work(size);
    const { result } = await profiler.post('Profiler.takePreciseCoverage');
    const own = result.filter(({ url }) => url.startsWith('file:') && !url.includes('/tsx/'));
    const blocks = own.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
    count.push(blocks.reduce((sum, block) => sum + block.count, 0));
  }
  counts.push(count);
}
report('work', counts);
process.disconnect();

/**
 * Waiters come, ask again, half of them leave, the rest lapse, come back, and get the only permit
 * in turn.
 */
async function serveWaiters(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: 1, ttl: 60_000 });
  const ids = idsOf('w', size);
  await one.take('x.0');
  await one.acquire(ids);
  const { verdicts } = await one.acquire(ids);
  const places = verdicts.map((verdict) => (verdict.kind === 'queued' ? verdict.arrival : 'wait'));
  const staying = ids.filter((_, i) => i % 2 === 1);
  await one.release(ids.filter((_, i) => i % 2 === 0));
  one.pass(6000);
  await one.acquire(staying.map((id, i) => request(id, places[2 * i + 1])).toReversed());
  for (const id of ['x.0', ...staying]) await one.release(id);
}

/**
 * One holder has all permits; then all are granted at once, extended, and half of them given back
 * one by one in no order, the others revoked. The limit is changed for as many times.
 */
async function keepTickets(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: size });
  const ids = idsOf('t', size);
  await one.take(`m.1.${size}`);
  await one.release(`m.1.${size}`);
  await one.acquire(ids);
  await one.extend(ids);
  for (let i = 0; i < size; i += 1) {
    const id = ids[(i * 7919) % size] ?? '';
    await (i % 2 === 0 ? one.release(id) : one.revoke(id));
    await one.addPermits(i % 2 === 0 ? 1 : -1, `c.${i}`);
  }
}

/** Waiters ask for more than the limit, which has shrunk; others come and go. */
async function passOthers(size: number): Promise<void> {
  const one = new MemoryFixture({ limit: 9 });
  await one.take('x.1.9');
  await one.acquire(idsOf('p', size).map((id) => `${id}.5`));
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
