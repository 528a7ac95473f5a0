import { expect } from 'chai';
import { inspect } from 'node:util';

import { BackendError } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import type { FaultyConnection, Operation } from '../../test/support/faulty-connection.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { AT_ONCE_MS, timedRejection } from '../support/timed.js';

const garbage: readonly unknown[] = [
  null,
  undefined,
  0,
  1,
  -1,
  Number.NaN,
  17n,
  true,
  '',
  '|',
  '||',
  '|||',
  '||||',
  'OK',
  '1700000000000000',
  '1700000000000000|||',
  '1700000000000000||b;b|',
  '1700000000000000||0 1700000000000000;1 1700000000000001|',
  '1700000000000000|11|',
  'x||b|',
  [],
  ['1700000000000000', '', 'b', ''],
  {},
  Buffer.from('1700000000000000||'),
  Symbol('odd'),
];

describeWithServer('a connection that answers what no script sends', (server) => {
  itThroughBothClients('lets every kind of acquire fail', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench);
    for (const reply of garbage) {
      answer(connection, 'acquire', reply);
      await expectRefusal(() => semaphore.acquire(5000), reply);
      await expectRefusal(() => semaphore.acquire(), reply);
      await expectRefusal(() => semaphore.tryAcquire(), reply);
    }
    connection.fault = undefined;
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('lets extend, release and inspect fail', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench);
    for (const reply of garbage) {
      const handle = await semaphore.acquire(1000);
      answer(connection, 'extend', reply);
      await expectRefusal(() => handle.extend(), reply);
      expect(handle.held).to.equal(true);
      answer(connection, 'inspect', reply);
      await expectRefusal(() => semaphore.inspect(), reply);
      answer(connection, 'release', reply);
      await expectRefusal(() => handle.release(), reply);
      expect(handle.held).to.equal(false);
      connection.fault = undefined;
    }
    await stored.expectEmpty();
  });

  itThroughBothClients('lets every call fail whose reply is cut short', async (bench) => {
    const { connection, semaphore, stored } = await prepare(bench);
    let kept = 0;
    let whole = '';
    connection.fault = async ({ operation, run }) => {
      if (operation !== 'acquire') return run();
      whole = String(await run());
      return whole.slice(0, kept);
    };
    for (; kept === 0 || kept < whole.length; kept += 1) {
      await expectRefusal(() => semaphore.tryAcquire(), `${kept} characters`);
      // What that may have got is given back: else the next one may be told that all is taken.
      await stored.expectEmpty();
    }
    connection.fault = undefined;
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('loses a handle only when its lease is over', async (bench) => {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl: 400 });
    const handle = await semaphore.acquire();
    answer(connection, 'extend', 'garbage');
    const lost = new Promise<string>((resolve) => {
      handle.on('lost', ({ reason }) => resolve(reason));
    });
    expect(await lost).to.equal('expired');
    connection.fault = undefined;
    await new StoredSemaphore(server(), name).expectEmpty();
  });

  async function prepare(bench: ClientBench) {
    const name = newName();
    const connection = await bench.connectFaulty(server().port);
    const semaphore = bench.semaphore(connection, name, { limit: 1, ttl: 10_000 });
    // The server knows the scripts from now on, so that no call is made twice.
    const handle = await semaphore.acquire(1000);
    await handle.extend();
    await handle.release();
    await semaphore.inspect();
    return { connection, semaphore, stored: new StoredSemaphore(server(), name) };
  }
});

/** The call is run, and answered with something else. */
function answer(connection: FaultyConnection, wanted: Operation, reply: unknown): void {
  connection.fault = ({ operation, run }) =>
    operation === wanted ? run().then(() => reply) : undefined;
}

async function expectRefusal(call: () => Promise<unknown>, reply: unknown): Promise<void> {
  const shown = `after ${inspect(reply)}`;
  const { took, error } = await timedRejection(call);
  expect(error, shown).to.be.instanceOf(BackendError);
  expect(error, shown).to.have.property('cause').that.is.instanceOf(Error);
  expect(took, shown).to.be.below(AT_ONCE_MS);
}
