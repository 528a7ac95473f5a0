import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { type ClientKind, clientKinds, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';

describeWithServer('the right to subscribe, of a waiter', (server) => {
  it('is found again where it was refused, and where it is withdrawn; the waiter is served', async () => {
    const ends = await Promise.allSettled(clientKinds.map(through));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  });

  async function through(kind: ClientKind): Promise<void> {
    await allow(kind, '-subscribe');
    const client = await openClient(kind, `redis://${kind}:word@127.0.0.1:${server().port}`);
    const sem = new Semaphore(client.target, `rights-${kind}`, { limit: 1, prefix: kind });
    const handle = await sem.acquire();
    const acquiring = sem.acquire(60_000);
    await eventually(async () => (await refusals(kind)) > 0, `${kind} is refused`);
    await allow(kind, '+subscribe');
    await eventually(() => listens(kind), `${kind} listens`);
    expect(await refusals(kind)).to.equal(1);
    // Ends the subscriber's connection, too; its client connects and subscribes again by itself.
    await server().command('ACL', 'SETUSER', kind, 'resetchannels');
    await eventually(async () => (await refusals(kind)) > 1, `${kind} is refused again`);
    await allow(kind, '+subscribe');
    await eventually(() => listens(kind), `${kind} listens again`);
    await handle.release();
    expect((await acquiring).held).to.equal(true);
    await sem.close();
    await client.close();
    await eventually(async () => !(await listens(kind)), `nothing of ${kind} listens`);
  }

  async function allow(kind: ClientKind, right: '+subscribe' | '-subscribe'): Promise<void> {
    await server().command('ACL', 'SETUSER', kind, 'on', '>word', '~*', '&*', '+@all', right);
  }

  async function listens(kind: ClientKind): Promise<boolean> {
    const channels = await server().command('PUBSUB', 'CHANNELS', `${kind}:*`);
    return (channels as string[]).length > 0;
  }

  /** How often the server refused that user a SUBSCRIBE, or its channel. */
  async function refusals(kind: ClientKind): Promise<number> {
    const entries = (await server().command('ACL', 'LOG')) as unknown[][];
    let count = 0;
    for (const entry of entries) {
      const field = (name: string): unknown => entry[entry.indexOf(name) + 1];
      const reason = field('reason') === 'channel' || field('object') === 'subscribe';
      if (field('username') === kind && reason) count += Number(field('count'));
    }
    return count;
  }
});
