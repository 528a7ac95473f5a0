import { expect } from 'chai';

import { type Handle, Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';
import { type Acquired, startHolder } from './holder-process.js';
import { leftKeys } from './holder-count.js';
import { type ClientKind, type OpenClient, openClient } from '../../test/support/open-client.js';
import { serverTime } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timed } from '../support/timed.js';

const ttl = 30_000;
const claimTime = 5000;
const waiterLease = 5000;
/** For the server and other processes, which other load may hold up, in milliseconds. */
const slack = 1000;

describeWithServer('a waiter that dies', (server) => {
  let client: OpenClient;
  let worker: WorkerProcess | undefined;
  let sem: Semaphore;

  afterEach(async () => {
    worker?.kill();
    await client.close();
  });

  async function expectNothingLeft(): Promise<void> {
    await sem.close();
    expect(await leftKeys(server(), sem.name)).to.deep.equal(['meta']);
  }

  /** A held permit, `count` waiters in another process, and behind them one in this process. */
  async function queueUp(
    name: string,
    kinds: { dying: ClientKind; living: ClientKind },
    count: number,
  ): Promise<{ handle: Handle; living: Promise<Handle> }> {
    const { url } = server();
    worker = await startHolder({ kind: kinds.dying, url, name, limit: 1, ttl });
    client = await openClient(kinds.living, url);
    sem = new Semaphore(client.target, name, { limit: 1, ttl });
    const handle = await sem.acquire();
    for (let nth = 0; nth < count; nth += 1) worker.send({ type: 'acquire' });
    await eventually(async () => (await sem.inspect()).waiting === count, 'the others wait');
    const living = sem.acquire();
    await eventually(async () => (await sem.inspect()).waiting === count + 1, 'this one waits');
    return { handle, living };
  }

  it('holds up nobody once its lease as a waiter is over', async () => {
    const name = 'lapsed';
    const { handle, living } = await queueUp(name, { dying: 'ioredis', living: 'redis' }, 10);
    worker?.kill();
    await worker?.exited;
    const key = `redsem:{${name}}:waiters`;
    const dead = await leaseOfOther(key);
    const now = await serverTime(server());
    expect((dead.until - now) / 1000).to.be.within(0, waiterLease);
    await server().command('ZADD', key, String(now - 1), dead.client);
    const { took } = await timed(async () => {
      await handle.release();
      await living;
    });
    expect(took).to.be.below(LATE_MS + slack);
    await expectNothingLeft();
  });

  it('holds up those behind it for one claim time at most, however many it was', async () => {
    const name = 'claims';
    const { handle, living } = await queueUp(name, { dying: 'redis', living: 'ioredis' }, 10);
    worker?.kill();
    await worker?.exited;
    const key = `redsem:{${name}}:waiters`;
    const { client: deadClient } = await leaseOfOther(key);
    // Dead for 4.5 of its 5 seconds: the first of the ten is granted once more, none after it.
    const soon = (await serverTime(server())) + 500_000;
    await server().command('ZADD', key, String(soon), deadClient);
    const { took } = await timed(async () => {
      await handle.release();
      await living;
    });
    expect(took).to.be.below(claimTime + LATE_MS + slack);
    await expectNothingLeft();
  });

  it('gets its old place again when it was only stopped', async () => {
    const { handle, living } = await queueUp('stopped', { dying: 'ioredis', living: 'redis' }, 1);
    worker?.pause();
    await handle.release();
    const second = await living;
    // It came last, but before it the stopped one had arrived.
    const last = sem.acquire();
    await eventually(async () => (await sem.inspect()).waiting >= 1, 'the last one waits');
    worker?.resume();
    await eventually(async () => (await sem.inspect()).waiting === 2, 'both wait');
    await second.release();
    const resumed = (await worker?.next('acquired'))?.data as Acquired;
    expect(resumed.token).to.be.above(second.fencingToken);
    worker?.send({ type: 'release' });
    expect((await worker?.next('released'))?.data).to.equal(true);
    expect((await last).fencingToken).to.be.above(resumed.token);
    await expectNothingLeft();
  });

  /** The one client in the list of waiters that holds no lease with this process's renewals. */
  async function leaseOfOther(key: string): Promise<{ client: string; until: number }> {
    const own = (await sem.inspect()).holders[0]?.id.split('.')[0];
    const leases = (await server().command('ZRANGE', key, '0', '-1', 'WITHSCORES')) as string[];
    const at = leases.findIndex((entry, index) => index % 2 === 0 && entry !== own);
    return { client: leases[at] ?? '', until: Number(leases[at + 1]) };
  }
});
