import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';

import { eventually } from '../../test/support/eventually.js';
import { describeWithFakeClock } from '../../test/support/require-server.js';
import { throughBothClients } from './fixture.js';

const minute = 60_000;

describeWithFakeClock("a step of the server's clock", (server) => {
  const test = throughBothClients(server);

  for (const step of [minute, 3000, -3000, -minute]) {
    test(`by ${step} ms keeps nobody from a free permit, nor makes a push look longer`, async (fixture) => {
      // Its tickets outlive every step.
      const one = await fixture.semaphore({ limit: 2, ttl: 10 * minute });
      const other = await fixture.semaphore({ limit: 2, ttl: minute / 6 });
      const last = await one.acquire();
      await last.release();
      await server().shiftClock(step);
      const held = [await one.tryAcquire(), await one.acquire(1000)];
      for (const handle of held) expect(handle?.fencingToken).to.be.above(last.fencingToken);
      const waiting = other.acquire(10_000);
      // From here on it relies on pushes, and looks by itself only every 1.5 s.
      await fixture.stored.expectListening();
      await sleep(150);
      // A minute forward is longer than a waiter's lease: nothing is pushed to it until it has
      // asked again.
      if (step !== minute) await server().shiftClock(step);
      expect(await held[0]?.release()).to.equal(true);
      const handle = await waiting;
      const [now, certain] = [Date.now() + server().clockOffset, handle.expiresIn];
      const expiry = async (): Promise<number> =>
        (await fixture.stored.tickets()).find(({ id }) => id === handle.id)?.expiresAt ?? 0;
      expect(certain).to.be.at.most((await expiry()) - now + 20);
      // What was granted for its claim time only is brought to its full life in time.
      await eventually(async () => expect(await expiry()).to.be.above(now + 5000));
      expect(handle.held).to.equal(true);
      expect(await handle.release()).to.equal(true);
    });
  }
});
