import { expect } from 'chai';

import { AcquireTimeoutError, BackendError, type Handle, type Semaphore } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { keyParts, StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';
import { AT_ONCE_MS, timed, timedRejection } from '../support/timed.js';

describeWithServer('a semaphore whose keys are damaged', (server) => {
  for (const part of keyParts) {
    itThroughBothClients(`goes on after ${part} was deleted`, async (bench) => {
      const { stored, held, waiting, semaphore } = await crowd(bench);
      const highest = Math.max(...held.map(({ fencingToken }) => fencingToken));
      await server().command('DEL', stored.key(part));
      await stored.expectWithin(3);
      const extra = await semaphore.tryAcquire();
      await stored.expectWithin(3);
      for (const handle of [...held, extra]) {
        await handle?.release();
        await stored.expectWithin(3);
      }
      const granted = await waiting;
      await stored.expectHeldBy([granted]);
      await stored.expectWithin(3);
      expect(await granted.release()).to.equal(true);
      await stored.expectEmpty();
      await expectUsable(semaphore, stored, highest);
    });

    itThroughBothClients(`is left whole by requests that meet a wrong ${part}`, async (bench) => {
      const { stored, semaphore, held } = await holdSlots(bench, [1, 2]);
      const before = await stored.dump(part);
      const putRight = await putWrong(stored.key(part));
      // Where a call has no need of the key it may work, else it is refused at once.
      const handle = await grantedOrRefused(() => semaphore.tryAcquire());
      if (handle === null) expect(await stored.dump(part)).to.deep.equal(before);
      if (handle !== null) await grantedOrRefused(() => handle.release());
      const [first] = held;
      if (first !== undefined) await grantedOrRefused(() => first.extend());
      await putRight();
      await expectFree(semaphore, stored, handle?.held === true ? 0 : 1);
      for (const each of held) expect(await each.release()).to.equal(true);
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });

    itThroughBothClients(`is left whole by waiters that meet a wrong ${part}`, async (bench) => {
      const { stored, semaphore, held } = await holdSlots(bench, [0, 1, 2]);
      const before = await stored.dump(part);
      const putRight = await putWrong(stored.key(part));
      const timeout = part === 'free' ? 300 : 5000;
      const { took, error } = await timedRejection(() => semaphore.acquire(timeout));
      // No slot was ever given back: `free` is not needed.
      if (part === 'free') expect(error).to.be.instanceOf(AcquireTimeoutError);
      else expectWrongType(error);
      if (part !== 'free') expect(took).to.be.below(AT_ONCE_MS);
      if (part !== 'free') {
        await eventually(async () => expect(await stored.dump(part)).to.deep.equal(before));
      }
      await putRight();
      expect(await stored.queue()).to.deep.equal([]);
      await expectFree(semaphore, stored, 0);
      for (const each of held) expect(await each.release()).to.equal(true);
      await stored.expectEmpty();
      await expectUsable(semaphore, stored);
    });

    for (const expiring of [0, 2]) {
      itThroughBothClients(
        `is left whole when ${part} is wrong while slot ${expiring} expires`,
        async (bench) => {
          const { stored, semaphore, held } = await holdSlots(bench, [0, 1, 2]);
          const [gone] = held.splice(expiring, 1);
          await stored.expire(gone?.id ?? '');
          const putRight = await putWrong(stored.key(part));
          const handle = await grantedOrRefused(() => semaphore.tryAcquire());
          await putRight();
          await expectFree(semaphore, stored, handle === null ? 1 : 0);
          for (const each of [...held, handle]) expect(await each?.release()).to.not.equal(false);
          await stored.expectEmpty();
        },
      );
    }
  }

  itThroughBothClients('refuses even a single try that waits for nothing', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    await server().command('SET', stored.key('tickets'), 'wrong');
    expectWrongType(await reasonOf(semaphore.acquire(0)));
  });

  /** Puts a text where a key stands; what it gives back puts the old value there again. */
  async function putWrong(key: string): Promise<() => Promise<unknown>> {
    // In one step: nobody must find the key missing.
    const keep =
      "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', unpack(KEYS)) end";
    const run = (script: string, ...keys: string[]): Promise<unknown> =>
      server().command('EVAL', script, '2', ...keys);
    await run(`${keep} redis.call('SET', KEYS[1], 'wrong')`, key, `${key}:saved`);
    return () => run(`redis.call('DEL', KEYS[2]) ${keep}`, `${key}:saved`, key);
  }

  itThroughBothClients(
    'a release that meets it frees its permit once the key is right again',
    async (bench) => {
      for (const part of keyParts) {
        const { stored, semaphore, held } = await holdSlots(bench, [1, 2]);
        const putRight = await putWrong(stored.key(part));
        await grantedOrRefused(async () => (await held[1]?.release()) ?? null);
        expect(held[1]?.held).to.equal(false);
        await putRight();
        await eventually(async () => (await semaphore.inspect()).held === 1, 'one is held');
        await expectFree(semaphore, stored, 2);
      }
    },
  );

  itThroughBothClients('lets waiters fail when a key gets a wrong type', async (bench) => {
    const { stored, held, waiting } = await crowd(bench);
    const putRight = await putWrong(stored.key('tickets'));
    // Their next try meets it: at most 1.5 s later.
    expectWrongType(await reasonOf(waiting));
    await putRight();
    for (const handle of held) expect(await handle.release()).to.equal(true);
    await stored.expectWithin(3);
  });

  /** A semaphore of limit 3 whose slots have all been used, but only those are held. */
  async function holdSlots(bench: ClientBench, slots: readonly number[]) {
    const name = newName();
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 3, ttl: 60_000 });
    const all: Handle[] = [];
    for (let slot = 0; slot < 3; slot += 1) all.push(await semaphore.acquire(1000));
    for (const handle of all) if (!slots.includes(handle.slot)) await handle.release();
    const held = all.filter((handle) => handle.held);
    return { semaphore, held, stored: new StoredSemaphore(server(), name) };
  }

  /** Slot 0 free, slots 1 and 2 held through two clients, and a request for two permits that waits. */
  async function crowd(bench: ClientBench) {
    const name = newName();
    const options = { limit: 3, ttl: 60_000 };
    const stored = new StoredSemaphore(server(), name);
    const clients = [
      await bench.connect(server().port),
      await bench.connect(server().port),
    ] as const;
    const semaphore = bench.semaphore(clients[0].target, name, options);
    const others = bench.semaphore(clients[1].target, name, options);
    const first = await semaphore.acquire();
    const held = [await others.acquire(), await semaphore.acquire()];
    const waiting = others.acquire({ permits: 2, timeout: 10_000 });
    waiting.catch(() => undefined);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await first.release();
    return { semaphore, stored, held, waiting };
  }
});

/** Null where a wrong type was met; any other failure is one of the test. */
async function grantedOrRefused<T>(call: () => Promise<T>): Promise<T | null> {
  const { value, took } = await timed(() =>
    call().catch((error: unknown) => {
      expectWrongType(error);
      return null;
    }),
  );
  expect(took).to.be.below(AT_ONCE_MS);
  return value;
}

/** So many permits can be had, and no more; they are given back. */
async function expectFree(
  semaphore: Semaphore,
  stored: StoredSemaphore,
  free: number,
): Promise<void> {
  const taken: Handle[] = [];
  for (let handle = await semaphore.tryAcquire(); handle !== null;) {
    taken.push(handle);
    await stored.expectWithin(semaphore.limit);
    handle = await semaphore.tryAcquire();
  }
  expect(taken).to.have.length(free);
  for (const handle of taken) expect(await handle.release()).to.equal(true);
}

function expectWrongType(error: unknown): void {
  expect(error).to.be.instanceOf(BackendError);
  expect((error as BackendError).cause).to.be.instanceOf(Error);
  expect(String((error as BackendError).cause)).to.match(/WRONGTYPE/);
}
