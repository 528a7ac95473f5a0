import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { connectionTo } from '../../test/support/open-client.js';
import { errorOf } from '../../test/support/rejection.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../support/stored-semaphore.js';
import { type Fixture, throughBothClients } from './fixture.js';

describeWithServer('a permit that replicas must acknowledge', (server) => {
  const test = throughBothClients(server);
  let replica: TestServer;

  before('start a replica, and wait until WAIT is answered by it', async () => {
    await server().command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    replica = await startServer();
    await replica.command('REPLICAOF', '127.0.0.1', String(server().port));
    await eventually(async () => {
      await server().command('SET', 'probe', 'x');
      expect(await server().command('WAIT', '1', '100')).to.equal(1);
    });
  });

  after('stop the replica', () => replica?.stop());

  const open = (fixture: Fixture, atLeast: number, timeout = 2000) =>
    fixture.semaphore({ replicas: { atLeast, timeout } });

  test('is acquired once they have it, also when it is handed over', async (fixture) => {
    const copy = new StoredSemaphore(replica, fixture.name);
    const [one, other] = [await open(fixture, 1), await open(fixture, 1)];
    const first = await one.acquire(5000);
    expect(await copy.tickets()).to.have.length(1);
    const waiting = other.acquire(10_000);
    await fixture.stored.untilQueued(1);
    expect(await first.release()).to.equal(true);
    const next = await waiting;
    // The claim time is 5 s: it was asked for, and has its whole life.
    expect((await one.inspect()).holders[0]?.expiresIn).to.be.above(10_000);
    expect(await copy.tickets()).to.deep.equal([next.id]);
    expect(await next.release()).to.equal(true);
    expect(await (await one.tryAcquire())?.release()).to.equal(true);
  });

  test('is given back when too few have it, and tried again', async (fixture) => {
    const semaphore = await open(fixture, 2, 250);
    const error = await errorOf(semaphore.acquire(1500), AcquireTimeoutError);
    expect(error.attempts).to.be.above(1);
    expect(String(error.cause)).to.match(/1 of 2 replicas acknowledged/);
    await fixture.stored.expectEmpty();
    await errorOf(semaphore.tryAcquire(), BackendError);
    await fixture.stored.expectEmpty();
    // Nor does it take anything from others.
    const held = await (await fixture.semaphore()).acquire();
    await errorOf(semaphore.acquire(200), AcquireTimeoutError);
    await fixture.stored.expectHeldBy([held]);
    expect(await held.release()).to.equal(true);
    await fixture.stored.expectEmpty();
  });

  test('counts as lost when the connection was interrupted meanwhile', async (fixture) => {
    const { target } = await fixture.clients.connect(server().port);
    const connection = connectionTo(target);
    const confirm = connection.replication?.();
    await server().command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually(() => connection.runByText('return 1', ['x'], []));
    expect(await confirm?.(0, 10)).to.equal(0);
    expect(await connection.replication?.()(1, 1000)).to.equal(1);
  });
});
