import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { machineTime } from './hold-intervals.js';
import { stopProcesses, TestProcess } from './test-process.js';

const ttl = 1500;
/** For the server and the other process, which other load may hold up, in milliseconds. */
const slack = 1500;

describeWithServer('a holder in another process', (server) => {
  let client: OpenClient;

  afterEach(async () => {
    stopProcesses();
    await client.close();
  });

  function holder(kind: ClientKind, name: string): Promise<TestProcess> {
    const options = { limit: 1, ttl, extendEvery: 300 };
    return TestProcess.start({ kind, url: server().url, name, options });
  }

  async function semaphoreHere(kind: ClientKind, name: string): Promise<Semaphore> {
    client = await openClient(kind, server().url);
    // Held for long: it must not be lost while the other one is looked at.
    return new Semaphore(client.target, name, { limit: 1 });
  }

  for (const adopts of [false, true]) {
    const title = adopts ? 'adopted its ticket and is killed' : 'is killed';
    it(`that ${title} frees its permit when its ticket expires`, async () => {
      let dying = await holder('redis', title);
      let ticket = await dying.ask('acquire', {});
      if (adopts) {
        dying = await holder('ioredis', title);
        ticket = await dying.ask('adopt', ticket);
      }
      const sem = await semaphoreHere('ioredis', title);
      const acquiring = sem.acquire();
      await eventually(async () => (await sem.inspect()).waiting === 1, 'it waits');
      await dying.kill();
      const stored = new StoredSemaphore(server(), title);
      const [{ id, expiresAt } = { id: '', expiresAt: NaN }] = await stored.tickets();
      expect(id).to.equal(ticket.id);
      // A token is the time of its grant in microseconds.
      const grantedAt = (await acquiring).fencingToken / 1000;
      expect(grantedAt).to.be.within(expiresAt, expiresAt + slack);
      await sem.close();
      expect(await stored.keys()).to.deep.equal(['meta']);
    });
  }

  for (const kind of ['redis', 'ioredis'] as const) {
    it(`that is stopped for longer than its ttl finds its permit lost at once (${kind})`, async () => {
      const name = `stopped ${kind}`;
      const stopped = await holder(kind, name);
      const { id, fencingToken } = await stopped.ask('acquire', {});
      const sem = await semaphoreHere(kind, name);
      const acquiring = sem.acquire();
      stopped.worker.pause();
      const handle = await acquiring;
      const at = machineTime();
      expect(handle.fencingToken).to.be.above(fencingToken);
      stopped.worker.resume();
      const lost = await stopped.nextLoss();
      expect(lost).to.include({ id, held: false });
      expect(await stopped.ask('lastHeld', null)).to.be.below(at);
      expect(stopped.worker.messages.filter(({ type }) => type === 'lost')).to.have.lengthOf(1);
      // What it gives back late is its own ticket, which is gone, and not the permit of its
      // successor.
      expect(await stopped.ask('release', id)).to.equal(false);
      expect(handle.held).to.equal(true);
      await new StoredSemaphore(server(), name).expectHeldBy([handle]);
      await sem.close();
    });
  }
});
