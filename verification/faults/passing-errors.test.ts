import { expect } from 'chai';

import { AcquireTimeoutError, BackendError } from '../../src/index.js';
import { parseTicketId } from '../../src/ticket-id.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { failNext, type FaultyCall } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { AT_ONCE_MS, LATE_MS, timedRejection } from '../support/timed.js';

const passing: readonly string[] = [
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  'MOVED 3999 127.0.0.1:6381',
  'ASK 3999 127.0.0.1:6381',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'CLUSTERDOWN The cluster is down',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOREPLICAS Not enough good replicas to write.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'ERR max number of clients reached',
  "ERR Error running script (call to f_0a1b): @user_script:12: @user_script: 12: -READONLY You can't write against a read only replica.",
  'ERR Error running script (call to f_0a1b): @user_script:12: -LOADING Redis is loading the dataset in memory',
  'read ECONNRESET',
  'ECONNRESET',
  'connect ECONNREFUSED 127.0.0.1:6379',
  'Socket closed unexpectedly',
  'Connection is closed.',
  'Command timed out',
  'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
  '',
];

const lasting: readonly string[] = [
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  'NOAUTH Authentication required.',
  "OOM command not allowed when used memory > 'maxmemory'.",
  "CROSSSLOT Keys in request don't hash to the same slot",
  'ERR Error running script (call to f_0a1b): @user_script:12: WRONGTYPE Operation against a key holding the wrong kind of value',
];

describeWithServer('errors of the backend', (server) => {
  itThroughBothClients('that pass are tried again with the same ids', async (bench) => {
    for (const message of passing) {
      const { connection, semaphore, stored } = await prepare(bench);
      connection.fault = failNext(3, message);
      const handle = await semaphore.acquire(2000);
      expect(idsOf(connection.of('acquire'))).to.deep.equal([[handle.id]], message);
      expect(connection.of('acquire')).to.have.length(4);
      await stored.expectHeldBy([handle]);
      connection.fault = failNext(2, message, 'extend');
      await handle.extend();
      expect(idsOf(connection.of('extend'))).to.deep.equal([[handle.id]], message);
      connection.fault = failNext(3, message, 'release');
      expect(await handle.release()).to.equal(true);
      expect(idsOf(connection.of('release'))).to.deep.equal([[handle.id]], message);
      await stored.expectEmpty();
    }
  });

  itThroughBothClients('that pass end a wait only at its timeout', async (bench) => {
    const message = 'CLUSTERDOWN The cluster is down';
    const { connection, semaphore, stored } = await prepare(bench);
    connection.fault = failNext(Infinity, message);
    const { took, error } = await timedRejection(() => semaphore.acquire(1500));
    expect(took).to.be.within(1499, 1550 + LATE_MS);
    expect(error).to.be.instanceOf(AcquireTimeoutError);
    expect(error).to.have.nested.property('cause.message', message);
    expect(connection.of('acquire').length).to.be.above(2);
    expect(await reasonOf(semaphore.tryAcquire())).to.be.instanceOf(BackendError);
    connection.fault = undefined;
    await stored.expectEmpty();
  });

  itThroughBothClients('that pass keep a waiter its place', async (bench) => {
    const { connection, semaphore, stored, name } = await prepare(bench);
    const { target } = await bench.connect(server().port);
    const others = bench.semaphore(target, name, { limit: 1 });
    const first = await others.acquire();
    const early = semaphore.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    const late = others.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(2));
    connection.fault = failNext(5, 'LOADING Redis is loading the dataset in memory');
    expect(await first.release()).to.equal(true);
    const second = await early;
    await stored.expectHeldBy([second]);
    expect(await second.release()).to.equal(true);
    expect(await (await late).release()).to.equal(true);
  });

  itThroughBothClients('that stay are not tried again', async (bench) => {
    for (const message of lasting) {
      const { connection, semaphore, stored } = await prepare(bench);
      connection.fault = failNext(1, message, 'acquire');
      const { took, error } = await timedRejection(() => semaphore.acquire(5000));
      expect(took).to.be.below(AT_ONCE_MS);
      expect(error).to.be.instanceOf(BackendError);
      expect(error).to.have.nested.property('cause.message', message);
      expect(connection.of('acquire')).to.have.length(1);
      const handle = await semaphore.acquire(1000);
      connection.fault = failNext(1, message, 'extend');
      expect(await reasonOf(handle.extend())).to.have.nested.property('cause.message', message);
      expect(handle.held).to.equal(true);
      connection.fault = failNext(1, message, 'release');
      const refusal = await reasonOf(handle.release());
      expect(refusal).to.have.nested.property('cause.message', message);
      connection.fault = undefined;
      await server().command('DEL', stored.key('tickets'));
    }
  });

  itThroughBothClients('may be thrown, or be no errors at all', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench);
    const oddities: unknown[] = ['a text', undefined, null, 42, { code: 'ODD' }];
    connection.fault = ({ operation }) => {
      if (operation !== 'acquire' || oddities.length === 0) return undefined;
      const odd = oddities.shift();
      if (odd === 42) throw new Error('thrown, not rejected');
      return Promise.reject(odd);
    };
    const handle = await semaphore.acquire(5000);
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients('of a subscription that cannot be made cost only time', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench);
    connection.subscribe = () => {
      throw new Error('this client cannot subscribe');
    };
    const first = await semaphore.acquire();
    const second = semaphore.acquire(5000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    expect(await first.release()).to.equal(true);
    expect(await (await second).release()).to.equal(true);
    await stored.expectEmpty();
  });

  async function prepare(bench: ClientBench) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const options = { limit: 1, ttl: 10_000, retry: { min: 1, max: 4 } };
    const semaphore = bench.semaphore(connection, name, options);
    return { name, connection, semaphore, stored: new StoredSemaphore(server(), name) };
  }
});

/** The ids in each call, where those that say the same count once. */
function idsOf(calls: readonly FaultyCall[]): string[][] {
  const seen = calls.map(({ args }) => args.filter((arg) => parseTicketId(arg) !== undefined));
  return [...new Map(seen.map((ids) => [ids.join(' '), ids])).values()];
}
