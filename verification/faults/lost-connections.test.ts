import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { reasonOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { AT_ONCE_MS, LATE_MS, timedRejection } from '../support/timed.js';
import { type Fixture, throughBothClients } from './fixture.js';

describeWithServer('a connection on which calls get lost', (server) => {
  const test = throughBothClients(server);
  let proxy: FaultProxy;

  beforeEach('start the proxy', async () => {
    proxy = await startProxy(server().port);
  });

  afterEach('stop the proxy', () => proxy.stop());

  /** What was lost stays lost: a connection with a gap in it is no connection. */
  function reconnect(): void {
    proxy.swallowReplies(false);
    proxy.swallowRequests(false);
    proxy.cut();
  }

  const losses: Record<string, { readonly lose: () => void; readonly end: () => void }> = {
    'whose request is lost': { lose: () => proxy.swallowRequests(true), end: reconnect },
    'whose reply is lost': { lose: () => proxy.swallowReplies(true), end: reconnect },
    'that runs late': { lose: () => proxy.hang(true), end: () => proxy.hang(false) },
  };

  /** The semaphore through the proxy, its first call behind it or not, and the same without. */
  async function open(fixture: Fixture, known: boolean) {
    const semaphore = await fixture.semaphore({ ttl: 30_000 }, proxy.port);
    const direct = await fixture.semaphore();
    await (await (known ? semaphore : direct).acquire()).release();
    return { semaphore, direct };
  }

  for (const known of [true, false]) {
    const clock = known ? 'known' : 'not yet known';

    for (const [title, { lose, end }] of Object.entries(losses)) {
      test(`leaves nothing of a wait ${title}, the server's clock ${clock}`, async (fixture) => {
        const { semaphore, direct } = await open(fixture, known);
        for (const busy of [false, true]) {
          const holder = busy ? await direct.acquire() : undefined;
          lose();
          const { took, error } = await timedRejection(() => semaphore.acquire(150));
          expect(error).to.be.instanceOf(AcquireTimeoutError);
          expect(took).to.be.within(149, 200 + LATE_MS);
          end();
          await fixture.untilQueued(0);
          await holder?.release();
          await fixture.stored.expectEmpty();
        }
        await fixture.expectUsable(semaphore);
      });
    }

    test(`gives an acquire that goes on the ticket it had, the clock ${clock}`, async (fixture) => {
      const { semaphore } = await open(fixture, known);
      proxy.swallowReplies(true);
      const acquiring = semaphore.acquire(10_000);
      const id = await eventually(async () => (await fixture.stored.tickets())[0]?.id ?? false);
      reconnect();
      const handle = await acquiring;
      expect(handle.id).to.equal(id);
      await fixture.stored.expectHeldBy([handle]);
      expect(await handle.release()).to.equal(true);
      await fixture.expectUsable(semaphore);
    });
  }
});

describeWithServer('a connection that its owner closes', (server) => {
  const test = throughBothClients(server);

  test('ends each call at once', async (fixture) => {
    const client = await fixture.clients.connect(server().port);
    const own = fixture.over(client.target, { limit: 2, ttl: 10_000 });
    const other = await fixture.semaphore({ limit: 2 });
    const [kept, first] = [await own.acquire(), await other.acquire()];
    const waiting = [own.acquire(), own.acquire(60_000)].map(reasonOf);
    await fixture.untilQueued(2);
    client.destroy();
    const later = [() => own.acquire(), () => kept.release()].map(timedRejection);
    for (const error of await Promise.all(waiting)) {
      expect(error).to.be.instanceOf(BackendError);
      expect(error).to.have.property('cause').that.is.instanceOf(Error);
    }
    for (const { took, error } of await Promise.all(later)) {
      expect(error).to.be.instanceOf(BackendError);
      expect(took).to.be.below(AT_ONCE_MS);
    }
    expect(await first.release()).to.equal(true);
  });
});
