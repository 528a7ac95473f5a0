import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Handle, Semaphore } from '../../src/index.js';
import { describeWithFakeClock } from '../../test/support/require-server.js';
import {
  type ClientBench,
  itThroughBothClients,
  newName,
} from '../../test/support/client-bench.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';
import { eventually } from '../../test/support/eventually.js';

const minute = 60_000;

describeWithFakeClock("a step of the server's clock", (server) => {
  for (const step of [minute, 3000, -3000, -minute]) {
    const direction = `${Math.abs(step) / 1000} s ${step > 0 ? 'forward' : 'back'}`;

    itThroughBothClients(`${direction} keeps nobody from a free permit`, async (bench) => {
      const { one, stored } = await prepare(bench);
      const last = await one.acquire();
      await last.release();
      await server().shiftClock(step);
      const handles = [await one.tryAcquire(), await one.acquire(1000)];
      for (const handle of handles) {
        expect(handle).to.be.an('object');
        expect(handle?.fencingToken).to.be.above(last.fencingToken);
      }
      await stored.expectHeldBy(handles.filter((handle) => handle !== null));
      for (const handle of handles) expect(await handle?.release()).to.equal(true);
      await stored.expectEmpty();
    });

    // Longer than a waiter's lease: nothing is pushed to it until it has asked again.
    if (step === minute) continue;

    itThroughBothClients(`${direction} makes no pushed grant look longer`, async (bench) => {
      const { one, other, stored } = await prepare(bench);
      const held = [await one.acquire(), await one.acquire()];
      const waiting = other.acquire(10_000);
      // From here on it relies on being told, and looks by itself only every 1.5 s.
      await stored.expectListening();
      await sleep(150);
      await server().shiftClock(step);
      expect(await held[0]?.release()).to.equal(true);
      const handle = await waiting;
      await expectNoLongerThanStored(handle, stored);
      // What was granted for its claim time only is brought to its full life in time.
      await eventually(async () => {
        const [ticket] = (await stored.tickets()).filter(({ id }) => id === handle.id);
        expect(ticket?.expiresAt).to.be.above(Date.now() + server().clockOffset + 5000);
      });
      await stored.expectWithin(2);
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
    });
  }

  /** The server's clock now, seen from here: what it says of the ticket may be more than the handle says, not less. */
  async function expectNoLongerThanStored(handle: Handle, stored: StoredSemaphore): Promise<void> {
    const now = Date.now() + server().clockOffset;
    const certain = handle.expiresIn;
    const [ticket] = (await stored.tickets()).filter(({ id }) => id === handle.id);
    expect(ticket, 'the ticket of the handle').to.be.an('object');
    expect(certain).to.be.at.most((ticket?.expiresAt ?? 0) - now + 20);
  }

  /** Two clients of one semaphore; the first one's tickets outlive every step. */
  async function prepare(bench: ClientBench) {
    const name = newName();
    const make = async (ttl: number): Promise<Semaphore> => {
      const { target } = await bench.connect(server().port);
      return bench.semaphore(target, name, { limit: 2, ttl });
    };
    const stored = new StoredSemaphore(server(), name);
    return { one: await make(5 * minute), other: await make(minute / 6), stored };
  }
});
