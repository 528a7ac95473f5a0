import { expect } from 'chai';
import { getEventListeners } from 'node:events';

import { AcquireTimeoutError, type Handle, Semaphore } from '../../src/index.js';
import { type ClientKind, openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { errorOf, reasonOf } from '../../test/support/rejection.js';
import { CountingClock } from '../../test/support/counting-clock.js';
import { collectUntil } from '../../test/support/garbage.js';

export interface LeakArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
}

/** Resources and listeners of the process by kind; timers of the closed semaphore; how many handles there were, all gone. */
export interface Leftovers {
  readonly before: Record<string, number>;
  readonly after: Record<string, number>;
  readonly timers: number;
  readonly handles: number;
}

const CYCLES = 10_000;
/** How many acquires time out, and how many are aborted. */
const REFUSALS = 1000;
const CONCURRENCY = 50;

const { kind, url, name } = workerArguments<LeakArguments>();
const handles: WeakRef<Handle>[] = [];
const clock = new CountingClock();
const client = await openClient(kind, url);
// One signal for all, as for the end of a program.
const stop = new AbortController();

const before = standing();
await work();
const after = standing();
await collectUntil(() => handles.every((handle) => handle.deref() === undefined));
report('left', {
  before,
  after,
  timers: clock.timers,
  handles: handles.length,
} satisfies Leftovers);
onMessage('end', () => {
  process.channel?.unref();
  void client.close();
});

async function work(): Promise<void> {
  const sem = new Semaphore(client.target, name, { limit: 10, clock });
  await Promise.all(Array.from({ length: CONCURRENCY }, () => cycle(sem)));
  const full = await sem.acquire({ permits: 10 });
  handles.push(new WeakRef(full));
  // The timeouts are spread, so that they meet calls that gather, are under way, and are answered.
  const refusals = Array.from({ length: REFUSALS }, (_, index) => [
    errorOf(sem.acquire(1 + (index % 20)), AcquireTimeoutError),
    aborted(sem),
  ]);
  await Promise.all(refusals.flat());
  await full.release();
  await sem.close();
}

async function cycle(sem: Semaphore): Promise<void> {
  for (let round = 0; round < CYCLES / CONCURRENCY; round += 1) {
    const handle = await sem.acquire({ timeout: 20_000, signal: stop.signal });
    // Some holders listen, some pass the signal on, most do neither.
    if (round % 10 === 0) handle.on('lost', () => undefined);
    if (round % 10 === 5) handle.signal.addEventListener('abort', () => undefined);
    handles.push(new WeakRef(handle));
    await handle.release();
  }
}

async function aborted(sem: Semaphore): Promise<void> {
  const controller = new AbortController();
  const refusal = reasonOf(sem.acquire({ signal: controller.signal }));
  setTimeout(() => controller.abort('enough'), Math.random() * 20);
  expect(await refusal).to.equal('enough');
  expect(getEventListeners(controller.signal, 'abort')).to.have.lengthOf(0);
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
