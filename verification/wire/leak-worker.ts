import { getEventListeners } from 'node:events';

import { AcquireTimeoutError, type Handle, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { CountingClock } from '../../test/support/counting-clock.js';
import { collectUntil } from '../../test/support/garbage.js';
import type { LeakArguments, Leftovers } from './leak-report.js';

const { kind, url, name, cycles, refusals } = workerArguments<LeakArguments>();
const concurrency = 50;
const handles: WeakRef<Handle>[] = [];
const clock = new CountingClock();
const client = await openClient(kind, url);
// One signal for all, as for the end of a program.
const stop = new AbortController();

const before = standing();
await work();
const after = standing();
await collectUntil(() => handles.every((handle) => handle.deref() === undefined));
const left: Leftovers = {
  before,
  after,
  timers: clock.timers,
  handles: handles.length,
  alive: handles.filter((handle) => handle.deref() !== undefined).length,
};
report('left', left);
onMessage('end', () => {
  process.channel?.unref();
  void client.close();
});

async function work(): Promise<void> {
  const sem = new Semaphore(client.target, name, { limit: 10, clock });
  const each = Array.from({ length: concurrency }, () => cycle(sem, cycles / concurrency));
  await Promise.all(each);
  const full = await sem.acquire({ permits: 10 });
  handles.push(new WeakRef(full));
  // The timeouts are spread, so that they meet calls that gather, are under way, and are answered.
  const timeouts = range(refusals).map((index) => refused(sem.acquire(1 + (index % 20))));
  const reasons = await Promise.all([...timeouts, ...range(refusals).map(() => aborted(sem))]);
  if (reasons.some((reason) => !(reason instanceof AcquireTimeoutError) && reason !== 'enough')) {
    throw new Error('refused for another reason');
  }
  await full.release();
  await sem.close();
}

async function cycle(sem: Semaphore, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const handle = await sem.acquire({ timeout: 20_000, signal: stop.signal });
    // Some holders listen, some pass the signal on, most do neither.
    if (round % 10 === 0) handle.on('lost', () => undefined);
    if (round % 10 === 5) handle.signal.addEventListener('abort', () => undefined);
    handles.push(new WeakRef(handle));
    await handle.release();
  }
}

async function refused(acquiring: Promise<Handle>): Promise<unknown> {
  return acquiring.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function aborted(sem: Semaphore): Promise<unknown> {
  const controller = new AbortController();
  const refusal = refused(sem.acquire({ signal: controller.signal }));
  setTimeout(() => controller.abort('enough'), Math.random() * 20);
  const reason = await refusal;
  if (getEventListeners(controller.signal, 'abort').length > 0) return 'a listener is left';
  return reason;
}

/** What could stay behind in the process: a count for each kind. */
function standing(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const resource of process.getActiveResourcesInfo()) {
    counts[resource] = (counts[resource] ?? 0) + 1;
  }
  for (const event of client.emitter.eventNames()) {
    counts[`client ${String(event)}`] = client.emitter.listenerCount(event);
  }
  for (const event of process.eventNames()) {
    counts[`process ${String(event)}`] = process.listenerCount(event);
  }
  counts['abort listeners'] = getEventListeners(stop.signal, 'abort').length;
  return counts;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}
