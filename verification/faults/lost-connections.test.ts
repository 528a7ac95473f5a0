import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { BackendError, type Handle } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { AT_ONCE_MS, timedRejection } from '../support/timed.js';

describeWithServer('lost connections and scripts', (server) => {
  async function killAll(): Promise<void> {
    for (const type of ['normal', 'pubsub']) {
      await server().command('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
    }
  }

  itThroughBothClients('cost neither handles nor waiters anything', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const options = { limit: 2, ttl: 10_000, extendEvery: 50 };
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, options);
    const others = bench.semaphore((await bench.connect(server().port)).target, name, options);
    const held = [await semaphore.acquire(), await others.acquire()];
    let losses = 0;
    for (const handle of held) handle.on('lost', () => (losses += 1));
    const waiting = [semaphore.acquire(10_000), others.acquire(10_000)];
    await eventually(async () => expect(await stored.queue()).to.have.length(2));
    for (let round = 0; round < 3; round += 1) {
      await killAll();
      await sleep(40);
    }
    const before = await stored.tickets();
    await eventually(async () => {
      for (const [i, { expiresAt }] of (await stored.tickets()).entries()) {
        expect(expiresAt).to.be.above(before[i]?.expiresAt ?? Infinity);
      }
    });
    const queue = await stored.queue();
    expect(queue).to.have.length(2);
    for (const handle of held) expect(await handle.release()).to.equal(true);
    await killAll();
    const granted = await Promise.all(waiting);
    expect(granted.map(({ id }) => id)).to.have.members(queue);
    await stored.expectHeldBy(granted);
    for (const handle of granted) await handle.release();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
    expect(losses).to.equal(0);
  });

  itThroughBothClients('cost an acquire or release at the same moment nothing', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 3, ttl: 10_000 });
    const working = { now: 0, peak: 0 };
    const work = async (handle: Handle): Promise<void> => {
      working.now += 1;
      working.peak = Math.max(working.peak, working.now);
      await sleep(5);
      expect(handle.held).to.equal(true);
      working.now -= 1;
    };
    const jobs = Array.from({ length: 40 }, () => semaphore.use(work, 20_000));
    const done = Promise.all(jobs);
    done.catch(() => undefined);
    do {
      await killAll();
      await stored.expectWithin(3);
    } while ((await Promise.race([done, sleep(60, 'not yet')])) === 'not yet');
    expect(working.peak).to.be.at.most(3);
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('of the subscriber alone cost a waiter only time', async (bench) => {
    const { one, other, stored } = await pair(bench);
    const first = await one.acquire();
    const waiting = other.acquire(10_000);
    await stored.expectListening();
    await server().command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    expect(await first.release()).to.equal(true);
    const second = await waiting;
    await stored.expectHeldBy([second]);
    expect(await second.release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('end a wait when the client itself was closed', async (bench) => {
    const { one, other, stored, clients } = await pair(bench);
    const first = await one.acquire();
    const waiting = [other.acquire(), other.acquire(60_000)].map(reasonOf);
    await eventually(async () => expect(await stored.queue()).to.have.length(2));
    clients[1].destroy();
    for (const error of await Promise.all(waiting)) {
      expect(error).to.be.instanceOf(BackendError);
      expect(error).to.have.property('cause').that.is.instanceOf(Error);
    }
    const { took, error } = await timedRejection(() => other.acquire());
    expect(error).to.be.instanceOf(BackendError);
    expect(took).to.be.below(AT_ONCE_MS);
    expect(await first.release()).to.equal(true);
  });

  itThroughBothClients('cost a waiter its lease, but not its place', async (bench) => {
    const { one, other, stored } = await pair(bench);
    const first = await one.acquire();
    const early = other.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    const late = one.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(2));
    // As after a long stall of the first waiter's process.
    const [id = ''] = await stored.queue();
    await server().command('ZADD', stored.key('waiters'), '1', id.split('.')[0] ?? '');
    await server().command('ZREM', stored.key('queue'), id);
    await eventually(async () => expect(await stored.queue()).to.have.length(2));
    expect((await stored.queue())[0]).to.equal(id);
    expect(await first.release()).to.equal(true);
    const second = await early;
    expect(second.id).to.equal(id);
    expect(await second.release()).to.equal(true);
    expect(await (await late).release()).to.equal(true);
    await stored.expectEmpty();
  });

  itThroughBothClients('are no matter when only the scripts are gone', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    const flush = (): Promise<unknown> => server().command('SCRIPT', 'FLUSH');
    for (let round = 0; round < 3; round += 1) {
      await flush();
      const handle = await semaphore.acquire(1000);
      await flush();
      await handle.extend();
      await flush();
      expect(await semaphore.tryAcquire()).to.equal(null);
      await flush();
      expect(await semaphore.inspect()).to.include({ held: 1 });
      const waiting = semaphore.acquire(10_000);
      await eventually(async () => expect(await stored.queue()).to.have.length(1));
      await flush();
      expect(await handle.release()).to.equal(true);
      await flush();
      expect(await (await waiting).release()).to.equal(true);
    }
    await stored.expectEmpty();
  });

  async function pair(bench: ClientBench) {
    const name = newName();
    const clients = [
      await bench.connect(server().port),
      await bench.connect(server().port),
    ] as const;
    const [one, other] = [
      bench.semaphore(clients[0].target, name, { limit: 1, ttl: 10_000 }),
      bench.semaphore(clients[1].target, name, { limit: 1, ttl: 10_000 }),
    ];
    return { one, other, clients, stored: new StoredSemaphore(server(), name) };
  }
});
