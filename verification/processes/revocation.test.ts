import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { leftKeys } from './holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { TicketProcess } from './ticket-process.js';
import { eventually } from '../../test/support/eventually.js';

describeWithServer('a revocation by another process', (server) => {
  let holder: TicketProcess | undefined;
  let client: OpenClient | undefined;

  afterEach(async () => {
    holder?.worker.kill();
    await client?.close();
  });

  async function prepare(kind: ClientKind, name: string, limit: number, ttl: number) {
    const { url } = server();
    const options = { limit, ttl };
    const process = await TicketProcess.start({ kind, url, name, options });
    holder = process;
    client = await openClient(kind === 'redis' ? 'ioredis' : 'redis', url);
    return { process, operator: new Semaphore(client.target, name, options) };
  }

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`is told at once where the holder's process waits (${kind})`, async () => {
      const name = `revoked ${kind}`;
      // The next extension is due in five minutes.
      const { process, operator } = await prepare(kind, name, 2, 900_000);
      const { id } = await process.ask('acquire', 5000);
      const other = await process.ask('acquire', 5000);
      await process.ask('wait', 2);
      await eventually(async () => {
        const channels = (await server().command('PUBSUB', 'CHANNELS')) as string[];
        return channels.includes(`redsem:inbox:${id.split('.')[0]}`);
      }, 'it listens');
      expect(await operator.revoke(id)).to.equal(true);
      expect(await process.nextLoss()).to.deep.equal({ id, reason: 'revoked' });
      expect(await process.ask('held', other.id)).to.equal(true);
      expect(await process.ask('release', id)).to.equal(false);
      expect(await process.ask('release', other.id)).to.equal(true);
      expect((await process.nextGrant()).slots).to.deep.equal([0, 1]);
      await operator.close();
    });

    it(`is told at the next extension otherwise, and frees the permit at once (${kind})`, async () => {
      const name = `revoked later ${kind}`;
      const { process, operator } = await prepare(kind, name, 1, 2000);
      const { id, fencingToken } = await process.ask('acquire', 5000);
      const waiting = operator.acquire(10_000);
      await eventually(async () => (await operator.inspect()).waiting === 1, 'it waits');
      expect(await operator.revoke(id)).to.equal(true);
      const next = await waiting;
      expect(next.fencingToken).to.be.above(fencingToken);
      expect(await process.nextLoss()).to.deep.equal({ id, reason: 'revoked' });
      expect(await process.ask('release', id)).to.equal(false);
      expect(next.held).to.equal(true);
      expect(await next.release()).to.equal(true);
      await operator.close();
      expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
    });

    it(`takes the permit of a process that stands still, which learns it when it goes on (${kind})`, async () => {
      const { process, operator } = await prepare(kind, `stopped ${kind}`, 1, 30_000);
      const { id } = await process.ask('acquire', 5000);
      process.worker.pause();
      expect(await operator.revoke(id)).to.equal(true);
      const next = await operator.acquire(0);
      process.worker.resume();
      expect(await process.ask('release', id)).to.equal(false);
      expect(await operator.inspect()).to.include({ held: 1 });
      await next.extend();
      await operator.close();
    });
  }
});
