import { expect } from 'chai';
import { MemoryBackend } from '../../src/index.js';
import { startServer, type TestServer } from '../../test/support/redis-server.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { FaultyConnection } from '../../test/support/faulty-connection.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

describeWithServer('a permit that replicas must acknowledge', (server) => {
  let replica: TestServer;
  const master = (): string => String(server().port);

  const replicas = async (): Promise<number> =>
    Number(await server().stat('replication', 'connected_slaves'));

  const waits = async (): Promise<number> => (await server().calls())['wait'] ?? 0;

  /** Until the link stands and WAIT is answered by it. */
  const attached = (): Promise<void> =>
    eventually(async () => {
      await server().command('SET', 'probe', 'x');
      expect(await server().command('WAIT', '1', '100')).to.equal(1);
      await server().command('DEL', 'probe');
    });

  before('start a replica', async function () {
    this.timeout(20_000);
    await server().command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    replica = await startServer();
    await replica.command('REPLICAOF', '127.0.0.1', master());
    await attached();
  });

  after('stop the replica', () => replica?.stop());

  const open = async (bench: ClientBench, atLeast: number, timeout = 2000) => {
    const name = newName();
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1, replicas: { atLeast, timeout } });
    return { name, target, semaphore, stored: new StoredSemaphore(server(), name) };
  };

  itThroughBothClients('is acquired once they have it', async (bench) => {
    const { name, semaphore } = await open(bench, 1);
    const handle = await semaphore.acquire(5000);
    expect(await new StoredSemaphore(replica, name).tickets()).to.have.length(1);
    expect(await handle.release()).to.equal(true);
    const once = await semaphore.tryAcquire();
    expect(once?.held).to.equal(true);
    await once?.release();
  });

  itThroughBothClients('is given back when too few have it, and tried again', async (bench) => {
    const { semaphore, stored } = await open(bench, 2, 250);
    const error = await reasonOf(semaphore.acquire(1500));
    expect(error).to.have.property('code', 'ACQUIRE_TIMEOUT');
    expect(error).to.have.property('attempts').that.is.above(1);
    expect(String((error as Error).cause)).to.match(/1 of 2 replicas acknowledged/);
    await stored.expectEmpty();
    expect(await reasonOf(semaphore.tryAcquire())).to.have.property('code', 'BACKEND');
    await stored.expectEmpty();
  });

  itThroughBothClients('takes nothing from others while it is tried in vain', async (bench) => {
    const { name, target, semaphore, stored } = await open(bench, 2, 20);
    const other = bench.semaphore(target, name, { limit: 1 });
    const held = await other.acquire();
    await reasonOf(semaphore.acquire(200));
    await stored.expectHeldBy([held]);
    expect(await held.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('is waited for until enough are there', async (bench) => {
    const { semaphore, stored } = await open(bench, 1, 50);
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await eventually(async () => expect(await replicas()).to.equal(0));
    const before = await waits();
    const acquiring = semaphore.acquire(15_000);
    await eventually(async () => expect(await waits()).to.be.above(before));
    await replica.command('REPLICAOF', '127.0.0.1', master());
    const handle = await acquiring;
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
    await attached();
  });

  itThroughBothClients('is claimed by asking when it is handed over', async (bench) => {
    const { target, name, semaphore, stored } = await open(bench, 1);
    const other = bench.semaphore(target, name, { limit: 1 });
    const held = await other.acquire();
    const waiting = semaphore.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await held.release();
    const handle = await waiting;
    // The claim time is 5 s: it was asked for, and has its whole life.
    const { holders } = await semaphore.inspect();
    expect(holders[0]?.expiresIn).to.be.above(10_000);
    expect(await new StoredSemaphore(replica, name).tickets()).to.have.length(1);
    expect(await handle.release()).to.equal(true);
  });

  itThroughBothClients(
    'counts as lost when the connection was interrupted meanwhile',
    async (bench) => {
      const { connection } = await bench.connect(server().port);
      const confirm = connection.replication?.();
      await server().command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await eventually(async () => {
        await connection.runByText('return 1', ['x'], []);
      });
      expect(await confirm?.(0, 10)).to.equal(0);
      expect(await connection.replication?.()(1, 1000)).to.equal(1);
    },
  );

  itThroughBothClients('is refused at once where nobody can acknowledge', async (bench) => {
    const options = { limit: 1, replicas: { atLeast: 1 } };
    expect(() => bench.semaphore(new MemoryBackend(), 'x', options)).to.throw(
      TypeError,
      /^replicas:/,
    );
    const { connection } = await bench.connect(server().port);
    const plain = new FaultyConnection(connection);
    expect(() => bench.semaphore(plain, 'x', options)).to.throw(TypeError, /^replicas:/);
    for (const wrong of [{ atLeast: 0 }, { atLeast: 1.5 }, { atLeast: 1, timeout: 0 }, 3, {}]) {
      const given = { limit: 1, replicas: wrong as { atLeast: number } };
      expect(() => bench.semaphore(new MemoryBackend(), 'x', given)).to.throw(/^replicas/);
    }
  });
});
