import { type Handle, type HandleData, Semaphore } from '../../src/index.js';
import { onMessage, report, workerArguments } from '../../test/support/worker-side.js';
import { openClient } from '../../test/support/open-client.js';
import type { TicketAnswer, TicketArguments, TicketCall, TicketOrder } from './ticket-process.js';

const { kind, url, name, options } = workerArguments<TicketArguments>();
const client = await openClient(kind, url);
const sem = new Semaphore(client.target, name, options);
const handles = new Map<string, Handle>();

function keep(handle: Handle): HandleData {
  const { id } = handle;
  handles.set(id, handle);
  handle.on('lost', ({ reason }) => report('lost', { id, reason }));
  return handle.toJSON();
}

function handleOf(id: unknown): Handle {
  const handle = handles.get(String(id));
  if (handle === undefined) throw new Error(`there is no handle ${String(id)}`);
  return handle;
}

const calls: Record<TicketCall, (argument: never) => unknown> = {
  acquire: async (timeout: number) => keep(await sem.acquire(timeout)),
  adopt: async (ticket: HandleData) => keep(await sem.adopt(ticket)),
  release: (id: string) => handleOf(id).release(),
  held: (id: string) => handleOf(id).held,
  setLimit: (limit: number) => sem.setLimit(limit),
  revoke: (id: string) => sem.revoke(id),
  wait: (permits: number) => {
    sem.acquire({ permits }).then(
      (handle) => report('granted', keep(handle)),
      (error: unknown) => report('refused', String(error)),
    );
  },
};

async function answer({ number, call, argument }: TicketOrder): Promise<void> {
  const reply = await Promise.resolve()
    .then(() => calls[call](argument as never))
    .then(
      (value): TicketAnswer => ({ value: value ?? null }),
      (error: unknown): TicketAnswer => ({ error: String(error) }),
    );
  report(`answer ${number}`, reply);
}

onMessage('order', (order) => void answer(order as TicketOrder));
report('ready');
