import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { type ClientKind, clientKinds, openClient } from '../../test/support/open-client.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('the right to subscribe, given back while somebody waits', (server) => {
  it('is found again where the first subscription was refused', () =>
    throughAllClients(async (kind, waiting) => {
      await allow(kind, '-subscribe');
      await waiting(async () => {
        await eventually(async () => (await refusals(kind)) > 0, `${kind} is refused`);
        await allow(kind, '+subscribe');
        await eventually(() => listens(kind), `${kind} listens`);
        expect(await refusals(kind)).to.equal(1);
      });
    }));

  it('is found again where it was withdrawn after a while', () =>
    throughAllClients(async (kind, waiting) => {
      await allow(kind, '+subscribe');
      await waiting(async () => {
        await eventually(() => listens(kind), `${kind} listens`);
        await allow(kind, '-subscribe');
        await server().command('CLIENT', 'KILL', 'USER', kind, 'TYPE', 'pubsub');
        await eventually(async () => (await refusals(kind)) > 0, `${kind} is refused`);
        await allow(kind, '+subscribe');
        await eventually(() => listens(kind), `${kind} listens again`);
      });
    }));

  type Waiting = (whileWaiting: () => Promise<void>) => Promise<void>;

  /** At the same time, so that what takes seconds, takes them once. */
  async function throughAllClients(
    body: (kind: ClientKind, waiting: Waiting) => Promise<void>,
  ): Promise<void> {
    await server().command('ACL', 'LOG', 'RESET');
    const ends = await Promise.allSettled(
      clientKinds.map((kind) => body(kind, (whileWaiting) => withWaiter(kind, whileWaiting))),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** One holds and one waits, until the end; then the permit is handed over, and nothing listens any more. */
  async function withWaiter(kind: ClientKind, whileWaiting: () => Promise<void>): Promise<void> {
    const client = await openClient(kind, `redis://${kind}:word@127.0.0.1:${server().port}`);
    const sem = new Semaphore(client.target, `rights-${kind}`, { limit: 1, prefix: kind });
    try {
      const handle = await sem.acquire();
      const acquiring = sem.acquire(20_000);
      acquiring.catch(() => undefined);
      await whileWaiting();
      await handle.release();
      expect((await acquiring).held).to.equal(true);
    } finally {
      await sem.close();
      await client.close();
    }
    await eventually(async () => !(await listens(kind)), `nothing of ${kind} listens`);
  }

  async function allow(kind: ClientKind, right: '+subscribe' | '-subscribe'): Promise<void> {
    await server().command('ACL', 'SETUSER', kind, 'on', '>word', '~*', '&*', '+@all', right);
  }

  async function listens(kind: ClientKind): Promise<boolean> {
    const channels = await server().command('PUBSUB', 'CHANNELS', `${kind}:*`);
    return (channels as string[]).length > 0;
  }

  /** How often the server refused that user a SUBSCRIBE. */
  async function refusals(kind: ClientKind): Promise<number> {
    const entries = (await server().command('ACL', 'LOG')) as unknown[][];
    let count = 0;
    for (const entry of entries) {
      const field = (name: string): unknown => entry[entry.indexOf(name) + 1];
      if (field('username') === kind && field('object') === 'subscribe')
        count += Number(field('count'));
    }
    return count;
  }
});
