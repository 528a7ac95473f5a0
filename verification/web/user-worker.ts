import { setTimeout as sleep } from 'node:timers/promises';

import { type Handle, type HandleData, Semaphore } from '../../src/index.js';
import { openClient } from '../../test/support/open-client.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import type { Calls, Order, UserArguments, Work } from './user-process.js';

const { kind, url, name, limit, label } = workerArguments<UserArguments>();
const { target } = await openClient(kind, url);
const semaphore = new Semaphore(target, name, { limit, label });
const handles = new Map<string, Handle>();

const calls: Record<keyof Calls, (argument: never) => unknown> = {
  acquire: async (permits: number) => keep(await semaphore.acquire({ permits })),
  release: (id: string) => handles.get(id)?.release() ?? false,
  work,
};

function keep(handle: Handle): HandleData {
  const { id } = handle;
  handles.set(id, handle);
  handle.on('lost', ({ reason }) => report('lost', { id, reason }));
  return handle.toJSON();
}

async function work({ callers, rounds, hold }: Work): Promise<number> {
  const call = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await semaphore.use(() => sleep(hold));
  };
  await Promise.all(Array.from({ length: callers }, call));
  return callers * rounds;
}

async function answer({ number, call, argument }: Order): Promise<void> {
  report(`answer ${number}`, await calls[call](argument as never));
}

onMessage('order', (order) => void answer(order as Order));
report('ready');
