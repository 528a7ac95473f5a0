import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { ManualClock } from '../../src/index.js';
import { startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { failNext, Gate } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { AT_ONCE_MS, LATE_MS, timed, timedRejection } from '../support/timed.js';

describeWithServer('release', (server) => {
  for (const moment of ['before it is run', 'before its reply comes'] as const) {
    itThroughBothClients(`wins over an extension under way, ${moment}`, async (bench) => {
      const { connection, semaphore, stored, handle, losses } = await hold(bench, 60);
      const gate = new Gate();
      connection.fault = ({ operation, run }) => {
        if (operation !== 'extend') return undefined;
        return moment === 'before it is run'
          ? gate.opened.then(run)
          : run().then((reply) => gate.opened.then(() => reply));
      };
      await eventually(() => expect(connection.of('extend')).to.have.length(1));
      if (moment === 'before its reply comes') await sleep(20);
      expect(await handle.release()).to.equal(true);
      expect(await stored.tickets()).to.deep.equal([]);
      gate.open();
      await connection.idle();
      await sleep(150); // more than two periods
      expect(await stored.tickets()).to.deep.equal([]);
      expect(connection.of('extend')).to.have.length(1);
      connection.fault = undefined;
      await expectUsable(semaphore, stored);
      expect(losses()).to.equal(0);
      expect(handle.held).to.equal(false);
    });
  }

  itThroughBothClients('gives the same answer to all who call it', async (bench) => {
    const { connection, stored, handle } = await hold(bench);
    let told = 0;
    handle.on('released', () => (told += 1));
    const answers = await Promise.all([handle.release(), handle.release(), handle.release()]);
    expect(answers).to.deep.equal([true, true, true]);
    expect(await handle.release()).to.equal(true);
    await handle[Symbol.asyncDispose]();
    expect(connection.of('release')).to.have.length(1);
    expect(told).to.equal(1);
    await stored.expectEmpty();
  });

  itThroughBothClients('says false after a loss, and takes nothing from others', async (bench) => {
    const { connection, semaphore, stored, handle, losses } = await hold(bench, 50);
    await server().command('DEL', stored.key('tickets'));
    await eventually(() => expect(losses()).to.equal(1));
    const next = await semaphore.acquire(1000);
    expect(await handle.release()).to.equal(false);
    await connection.idle();
    await stored.expectHeldBy([next]);
    expect(await next.release()).to.equal(true);
  });

  itThroughBothClients('says false when the ticket had gone unnoticed', async (bench) => {
    const { semaphore, stored, handle, losses } = await hold(bench);
    await stored.expire(handle.id);
    const next = await semaphore.acquire(1000);
    expect(await handle.release()).to.equal(false);
    await stored.expectHeldBy([next]);
    expect(await next.release()).to.equal(true);
    expect(losses()).to.equal(0);
  });

  itThroughBothClients('says false after a stall, and still frees the permit', async (bench) => {
    const clock = new ManualClock();
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 5000, clock });
    const handle = await semaphore.acquire();
    let losses = 0;
    handle.on('lost', () => (losses += 1));
    clock.stall(6000);
    expect(await handle.release()).to.equal(false);
    await stored.expectEmpty();
    await clock.advance(10_000);
    expect(losses).to.equal(0);
  });

  itThroughBothClients('is tried again until it is confirmed', async (bench) => {
    const { connection, semaphore, stored, handle } = await hold(bench);
    connection.fault = failNext(4, 'read ECONNRESET', 'release');
    expect(await handle.release()).to.equal(true);
    expect(connection.of('release')).to.have.length(5);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('ends in time while Redis is away, and frees it later', async (bench) => {
    const proxy = await startProxy(server().port);
    try {
      const name = newName();
      const stored = new StoredSemaphore(server(), name);
      const { target } = await bench.connect(proxy.port);
      const semaphore = bench.semaphore(target, name, { limit: 1, ttl: 400 });
      const handle = await semaphore.acquire();
      proxy.refuse(true);
      proxy.cut();
      const { value, took } = await timed(() => handle.release());
      expect(value).to.equal(false);
      expect(took).to.be.at.most(450 + LATE_MS);
      proxy.refuse(false);
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    } finally {
      await proxy.stop();
    }
  });

  itThroughBothClients('is refused once the client was closed, at once', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const client = await bench.connect(server().port);
    const semaphore = bench.semaphore(client.target, name, { limit: 1, ttl: 10_000 });
    const handle = await semaphore.acquire();
    const other = bench.semaphore((await bench.connect(server().port)).target, name, { limit: 1 });
    client.destroy();
    await sleep(20);
    const { took, error } = await timedRejection(() => handle.release());
    expect(took).to.be.below(AT_ONCE_MS);
    expect(error).to.have.property('code', 'BACKEND');
    await stored.expire(handle.id);
    await expectUsable(other, stored);
  });

  itThroughBothClients('wakes the next waiter in the same call', async (bench) => {
    const { connection, stored, handle, name } = await hold(bench);
    const { target } = await bench.connect(server().port);
    const waiting = bench.semaphore(target, name, { limit: 1 }).acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    expect(await handle.release()).to.equal(true);
    // The waiter's ticket stands there as soon as the release is confirmed.
    expect(await stored.tickets()).to.have.length(1);
    expect(connection.of('release')).to.have.length(1);
    const next = await waiting;
    await stored.expectHeldBy([next]);
    expect(await next.release()).to.equal(true);
  });

  async function hold(bench: ClientBench, extendEvery = 0) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const options = { limit: 1, ttl: 10_000, extendEvery };
    const semaphore = bench.semaphore(connection, name, options);
    const stored = new StoredSemaphore(server(), name);
    const handle = await semaphore.acquire();
    let count = 0;
    handle.on('lost', () => (count += 1));
    return { name, connection, semaphore, stored, handle, losses: () => count };
  }
});
