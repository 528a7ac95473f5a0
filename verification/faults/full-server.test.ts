import { expect } from 'chai';

import { BackendError, type Handle } from '../../src/index.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { itThroughBothClients, newName } from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { expectUsable } from './usable.js';
import { eventually } from '../../test/support/eventually.js';
import { reasonOf } from '../../test/support/rejection.js';

describeWithServer('a server whose memory is full', (server) => {
  async function fill(): Promise<void> {
    await server().command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await server().command('CONFIG', 'SET', 'maxmemory', '1');
    const refusal = await reasonOf(server().command('SET', 'anything', 'x'));
    expect(String(refusal)).to.match(/OOM/);
  }

  const empty = (): Promise<unknown> => server().command('CONFIG', 'SET', 'maxmemory', '0');

  afterEach('make room', empty);

  itThroughBothClients('lets handles be extended and released', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const options = { limit: 3, ttl: 10_000, extendEvery: 40 };
    const semaphore = bench.semaphore(target, name, options);
    const held = [await semaphore.acquire(), await semaphore.acquire(), await semaphore.acquire()];
    let losses = 0;
    for (const handle of held) handle.on('lost', () => (losses += 1));
    await fill();
    const before = await stored.tickets();
    for (const handle of held) await handle.extend();
    await eventually(async () => {
      for (const [i, { expiresAt }] of (await stored.tickets()).entries()) {
        expect(expiresAt).to.be.above((before[i]?.expiresAt ?? Infinity) + 80);
      }
    });
    // The middle one first: its slot must be written down as free.
    for (const handle of [held[1], held[0], held[2]]) {
      expect(await handle?.release()).to.equal(true);
    }
    await stored.expectEmpty();
    expect(losses).to.equal(0);
  });

  itThroughBothClients('grants permits whole or not at all', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 3 });
    await fill();
    const held: Handle[] = [];
    for (let round = 0; round < 12; round += 1) {
      try {
        const handle = await semaphore.acquire(held.length < 3 ? 5000 : 50);
        held.push(handle);
      } catch (error) {
        if (held.length < 3) expect(error).to.be.instanceOf(BackendError);
        if (held.length < 3) expect(String((error as Error).cause)).to.match(/OOM/);
      }
      await stored.expectHeldBy(held);
      await stored.expectWithin(3);
      if (round % 4 === 3) expect(await held.shift()?.release()).to.not.equal(false);
    }
    expect(await stored.queue()).to.deep.equal([]);
    for (const handle of held) expect(await handle.release()).to.equal(true);
    await empty();
    await stored.expectEmpty();
    await expectUsable(semaphore, stored);
  });

  itThroughBothClients('hands a released permit to a waiter', async (bench) => {
    const name = newName();
    const stored = new StoredSemaphore(server(), name);
    const { target } = await bench.connect(server().port);
    const semaphore = bench.semaphore(target, name, { limit: 1 });
    const first = await semaphore.acquire();
    const second = semaphore.acquire(10_000);
    await eventually(async () => expect(await stored.queue()).to.have.length(1));
    await fill();
    expect(await first.release()).to.equal(true);
    const handle = await second;
    await stored.expectHeldBy([handle]);
    expect(await handle.release()).to.equal(true);
    await stored.expectEmpty();
  });
});
