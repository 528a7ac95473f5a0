import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { type Handle, type HandleData, Semaphore } from '../../src/index.js';
import type { SingleTarget } from '../../src/clients.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { type Interval, machineTime } from './hold-intervals.js';
import type { Answer, Calls, Job, Order, ProcessArguments } from './test-process.js';

const { kind, url, name = 'unused', options = { limit: 1 } } = workerArguments<ProcessArguments>();
const urls = typeof url === 'string' ? [url] : url;
const clients = await Promise.all(urls.map((one) => openClient(kind, one)));
const targets = clients.map((client) => client.target as SingleTarget);
const target = typeof url === 'string' ? targets[0]! : targets;
const semaphore = new Semaphore(target, name, options);
const handles = new Map<string, Handle>();
let lastHeld = 0;

const calls: Record<keyof Calls, (argument: never) => unknown> = {
  acquire: async (given: { timeout?: number }) => keep(await semaphore.acquire(given)),
  adopt: async (ticket: HandleData) => keep(await semaphore.adopt(ticket)),
  release: (id: string) => handles.get(id)?.release(),
  lastHeld: () => lastHeld,
  run,
};

function keep(handle: Handle): HandleData {
  const { id } = handle;
  handles.set(id, handle);
  handle.on('lost', ({ reason }) => report('lost', { id, reason, held: handle.held }));
  setInterval(() => {
    if (handle.held) lastHeld = machineTime();
  }, 5).unref();
  return handle.toJSON();
}

async function run(job: Job): Promise<Interval[]> {
  const { tasks, apart = 0, rounds, hold, timeout = 20_000, permits = 1, limit, rate } = job;
  const terms = { limit, ...(rate !== undefined && { rate }) };
  const contended = new Semaphore(target, job.name, terms);
  const intervals: Interval[] = [];
  const work = async (nth: number): Promise<void> => {
    if (apart > 0) await sleep(nth * apart);
    for (let round = 0; round < rounds; round += 1) {
      const handle = await contended.acquire({ timeout, permits });
      const from = machineTime();
      await sleep(hold);
      handle.assertHeld();
      const to = machineTime();
      await handle[Symbol.asyncDispose]();
      const { id, slots, fencingToken: token } = handle;
      intervals.push(...slots.map((slot) => ({ id, slot, token, from, to })));
    }
  };
  await Promise.all(Array.from({ length: tasks }, (_, nth) => work(nth)));
  await contended.close();
  return intervals;
}

async function answer({ number, call, argument }: Order): Promise<void> {
  let reply: Answer;
  try {
    reply = { value: await calls[call](argument as never) };
  } catch (error) {
    reply = { error: inspect(error) };
  }
  report(`answer ${number}`, reply);
}

onMessage('order', (order) => void answer(order as Order));
report('ready');
