import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { BackendError, type Handle, HandleLostError, type Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { ClientBench, itThroughBothClients, newName } from '../../test/support/client-bench.js';
import {
  type Fault,
  failNext,
  type FaultyConnection,
  Gate,
} from '../../test/support/faulty-connection.js';
import { leastRights } from '../../test/support/least-rights.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { AT_ONCE_MS, LATE_MS, timedRejection } from '../support/timed.js';

/** The next call runs, and its reply is lost. */
function loseNextReply(): Fault {
  let lost = false;
  return ({ run }) => {
    if (lost) return undefined;
    lost = true;
    return run().then(() => Promise.reject(new Error('read ECONNRESET')));
  };
}

/** Every call runs twice, and the second reply is heard. */
const runTwice: Fault = ({ run }) => run().then(run);

const mishaps: Readonly<Record<string, () => Fault>> = {
  'whose reply is lost': loseNextReply,
  'that is run twice': () => runTwice,
  'that does not reach the server at first': () => failNext(3, 'connect ECONNREFUSED'),
};

describeWithServer('setLimit, adopt and revoke', (server) => {
  before(
    'load the scripts, so that the first call of a test is not refused for want of them',
    async () => {
      const bench = new ClientBench('ioredis');
      const { target } = await bench.connect(server().port);
      const semaphore = bench.semaphore(target, newName(), { limit: 1 });
      await semaphore.setLimit(1);
      const { id } = await semaphore.adopt((await semaphore.acquire()).toJSON());
      await semaphore.revoke(id);
      await bench.close();
    },
  );

  afterEach('let the server go on', async () => {
    server().resume();
    await server().command('CONFIG', 'SET', 'maxmemory', '0');
  });

  /** A semaphore whose calls may go wrong, another one with a permit, and what stands in Redis. */
  async function prepare(bench: ClientBench, ttl = 10_000) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const retry = { min: 5, max: 20 };
    const semaphore = bench.semaphore(connection, name, { limit: 2, ttl, retry });
    const { target } = await bench.connect(server().port);
    const holder = bench.semaphore(target, name, { limit: 2, ttl, extendEvery: 0 });
    const first = await holder.acquire();
    return { connection, semaphore, holder, first, stored: new StoredSemaphore(server(), name) };
  }

  for (const [title, fault] of Object.entries(mishaps)) {
    itThroughBothClients(`a new limit ${title} counts`, async (bench) => {
      const { connection, semaphore, holder, first, stored } = await prepare(bench);
      connection.fault = fault();
      await semaphore.setLimit(3);
      connection.fault = undefined;
      expect(await holder.inspect()).to.include({ limit: 3, held: 1 });
      expect(await first.release()).to.equal(true);
      await holder.tryAcquire().then((handle) => handle?.release());
      expect(holder.limit).to.equal(3);
      await expectUsable(holder, stored);
    });

    itThroughBothClients(`an adoption ${title} gives one handle, which is kept`, async (bench) => {
      const { connection, semaphore, first, stored } = await prepare(bench);
      connection.fault = fault();
      const adopted = await semaphore.adopt(first.toJSON());
      connection.fault = undefined;
      await connection.idle();
      expect(adopted).to.include({ held: true, slot: 0 });
      expect(adopted.fencingToken).to.be.above(first.fencingToken);
      const { holders } = await semaphore.inspect();
      expect(holders.map(({ id, fencingToken }) => [id, fencingToken])).to.deep.equal([
        [adopted.id, adopted.fencingToken],
      ]);
      await adopted.extend();
      const lost = await reasonOf(first.extend());
      expect(lost).to.be.instanceOf(HandleLostError).and.to.have.property('reason', 'missing');
      expect(await first.release()).to.equal(false);
      expect(await adopted.release()).to.equal(true);
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`a revocation ${title} takes that ticket alone`, async (bench) => {
      const { connection, semaphore, holder, first, stored } = await prepare(bench);
      const other = await holder.acquire();
      connection.fault = fault();
      expect(await semaphore.revoke(first.id)).to.equal(true);
      connection.fault = undefined;
      await stored.expectHeldBy([other]);
      const lost = await reasonOf(first.extend());
      expect(lost).to.have.property('reason', 'revoked');
      await other.extend();
      expect(await other.release()).to.equal(true);
      await expectUsable(semaphore, stored);
    });
  }

  function callsOf(semaphore: Semaphore, first: Handle): (() => Promise<unknown>)[] {
    return [
      () => semaphore.setLimit(3),
      () => semaphore.adopt(first.toJSON()),
      () => semaphore.revoke(first.id),
      () => semaphore.tryUse(() => 'ran'),
      () => semaphore.inspect(),
    ];
  }

  itThroughBothClients('end within min(ttl, 5000) when the server hangs', async (bench) => {
    const { semaphore, first, stored } = await prepare(bench, 1000);
    server().pause();
    const calls = callsOf(semaphore, first).map(timedRejection);
    for (const { took, error } of await Promise.all(calls)) {
      expect(error).to.be.instanceOf(BackendError);
      expect((error as BackendError).cause).to.be.instanceOf(Error);
      expect(took).to.be.within(999, 1000 + LATE_MS);
    }
    server().resume();
    // What the server still had in its sockets may run now; whatever it did ends with its lease.
    await stored.expectEmpty();
    await semaphore.setLimit(2);
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('leave everything as it was when none reaches the server', async (bench) => {
    const { connection, semaphore, holder, first, stored } = await prepare(bench, 1000);
    connection.fault = () => new Promise(() => undefined);
    const before = (await stored.tickets()).map(({ id }) => id);
    const errors = await Promise.all(callsOf(semaphore, first).map((call) => reasonOf(call())));
    for (const error of errors) expect(error).to.have.property('code', 'BACKEND');
    connection.fault = undefined;
    expect(before).to.deep.equal([first.id]);
    expect((await holder.inspect()).limit).to.equal(2);
  });

  itThroughBothClients('are named at once where the user has no right', async (bench) => {
    const { holder, first, stored } = await prepare(bench);
    const login = { username: 'operator', password: 'secret' };
    const { username, password } = login;
    const rights = leastRights.filter((right) => right !== '+hget' && right !== '+hmget');
    await server().command('ACL', 'SETUSER', username, 'reset', 'on', `>${password}`, '-@all');
    await server().command('ACL', 'SETUSER', username, 'resetchannels', ...rights);
    const { target } = await bench.connect(server().port, login);
    const semaphore = bench.semaphore(target, first.name, { limit: 2 });
    for (const call of callsOf(semaphore, first).slice(0, 4)) {
      const { took, error } = await timedRejection(call);
      expect(error).to.be.instanceOf(BackendError);
      expect(String((error as BackendError).cause)).to.match(
        /NOPERM|can't run this command|ACL failure/,
      );
      expect(took).to.be.below(AT_ONCE_MS);
    }
    await first.extend();
    await stored.expectHeldBy([first]);
    expect((await holder.inspect()).limit).to.equal(2);
  });

  itThroughBothClients('work under the least rights', async (bench) => {
    const { first, stored } = await prepare(bench);
    const login = { username: 'least', password: 'secret' };
    await server().command('ACL', 'SETUSER', 'least', 'reset', 'on', '>secret', '-@all');
    await server().command('ACL', 'SETUSER', 'least', 'resetchannels', ...leastRights);
    await server().command('ACL', 'LOG', 'RESET');
    const { target } = await bench.connect(server().port, login);
    const semaphore = bench.semaphore(target, first.name, { limit: 2 });
    await semaphore.setLimit(3);
    const adopted = await semaphore.adopt(first.toJSON());
    expect(await semaphore.revoke(adopted.id)).to.equal(true);
    expect(await semaphore.tryUse(({ slot }) => slot)).to.deep.equal({ ran: true, result: 0 });
    const denied = JSON.stringify(await server().command('ACL', 'LOG'));
    expect(denied).to.not.match(/"lua"/);
    await stored.expectEmpty();
  });

  itThroughBothClients('act whole or not at all when the memory is full', async (bench) => {
    const { semaphore, holder, first, stored } = await prepare(bench);
    const second = await holder.acquire();
    const waiting = holder.acquire({ permits: 1, timeout: 10_000 });
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await server().command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    const limiting: unknown = await semaphore.setLimit(3).catch((error: unknown) => error);
    const { limit } = await holder.inspect();
    expect(limit).to.equal(limiting instanceof Error ? 2 : 3);
    const adopted: unknown = await semaphore.adopt(first.toJSON()).catch((error: unknown) => error);
    if (adopted instanceof BackendError) {
      expect(String(adopted.cause)).to.match(/OOM/);
      await first.extend();
    } else {
      expect(adopted).to.include({ held: true });
    }
    // It gives memory back, so it must work.
    expect(await semaphore.revoke(second.id)).to.equal(true);
    const next = await waiting;
    await stored.expectHeldBy([adopted instanceof Error ? first : (adopted as Handle), next]);
  });

  /** Adopts, but the call is held back until it was given up; gives what lets it run then. */
  const giveUpAdoption = (connection: FaultyConnection, semaphore: Semaphore, from: Handle) =>
    giveUp(connection, semaphore, () => semaphore.adopt(from.toJSON()));

  async function giveUp(
    connection: FaultyConnection,
    semaphore: Semaphore,
    act: () => Promise<unknown>,
  ) {
    const gate = new Gate();
    let late: Promise<unknown> = Promise.resolve();
    // From now on the clock of the server is known.
    await semaphore.tryUse(() => undefined);
    connection.fault = ({ run }) => {
      late = gate.opened.then(run);
      return late;
    };
    expect(await reasonOf(act())).to.be.instanceOf(BackendError);
    connection.fault = undefined;
    return async (): Promise<void> => {
      gate.open();
      await late;
    };
  }

  itThroughBothClients('an adoption that runs late holds nothing for good', async (bench) => {
    const { connection, semaphore, holder, first, stored } = await prepare(bench, 1000);
    const runLate = await giveUpAdoption(connection, semaphore, first);
    await runLate();
    await stored.expectEmpty();
    await expectUsable(holder, stored);
  });

  itThroughBothClients('an adoption that runs late takes nothing from the next', async (bench) => {
    const { connection, semaphore } = await prepare(bench, 1000);
    const { target } = await bench.connect(server().port);
    const next = bench.semaphore(target, semaphore.name, { limit: 2, ttl: 60_000 });
    const ticket = await next.acquire();
    const runLate = await giveUpAdoption(connection, semaphore, ticket);
    const adopted = await next.adopt(ticket.toJSON());
    // Longer than a call can take by which the client saw the server's clock: no more does it not know of it.
    await sleep(1000);
    await runLate();
    await adopted.extend();
    expect(adopted.held).to.equal(true);
  });

  itThroughBothClients('a limit that is set late does not replace a newer one', async (bench) => {
    const { connection, semaphore } = await prepare(bench, 1000);
    const { target } = await bench.connect(server().port);
    const other = bench.semaphore(target, semaphore.name, { limit: 2, ttl: 60_000 });
    const runLate = await giveUp(connection, semaphore, () => semaphore.setLimit(7));
    await other.setLimit(3);
    await sleep(1000);
    await runLate();
    expect((await other.inspect()).limit).to.equal(3);
  });
});
