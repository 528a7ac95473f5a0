import { expect } from 'chai';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { ContenderPool } from './contender-pool.js';
import { Crowd, type CrowdOptions, expectTold, startFour } from './crowd.js';
import { DEATHS } from './crowd-deaths.js';
import { whileRepeating } from './repeat.js';
import { serverTime } from './server-records.js';
import { cutSubscribers, untilSubscribed } from '../../test/support/subscribers.js';

describeWithServer('a thousand waiters of whose processes one is killed', (server) => {
  let proxy: FaultProxy;
  let pool: ContenderPool;
  let crowd: Crowd | undefined;

  beforeEach(async () => {
    proxy = await startProxy(server().port);
    pool = await startFour(`redis://127.0.0.1:${proxy.port}`);
  });

  afterEach(async () => {
    pool.stop();
    await crowd?.close();
    await proxy.stop();
  });

  for (const { title, hold, check } of DEATHS) {
    describe(title, () => {
      it('also with subscribers that are cut off again and again', async () => {
        const all = (crowd = await gather({ name: title, hold }));
        const { results } = await whileRepeating(
          15,
          () => cutSubscribers(server()),
          () => check(server(), all, pool),
        );
        const cut = results.reduce((sum, count) => sum + count, 0);
        expect(cut, 'subscribers cut').to.be.at.least(12);
      }).timeout(120_000);

      it('also with subscribers that cannot connect for a while', async () => {
        // The clients pause for up to 2 seconds before they connect again: many must wait on until then.
        const all = (crowd = await gather({ name: title, hold: 40 }));
        // The connections that stand go on.
        proxy.refuse(true);
        await cutSubscribers(server());
        await untilSubscribed(server(), 0);
        const [intervals, restored] = await Promise.all([
          check(server(), all, pool),
          restoreLater(all),
        ]);
        expectTold(intervals.filter(({ token }) => token > restored));
      }).timeout(120_000);
    });
  }

  async function gather(options: CrowdOptions): Promise<Crowd> {
    const gathered = await Crowd.gather(server(), pool, { ...options, apart: 2 });
    await untilSubscribed(server(), 4);
    return gathered;
  }

  /** Gives the server's time at which those who live were subscribed again. */
  async function restoreLater(waiters: Crowd): Promise<number> {
    await waiters.thinOut(900);
    proxy.refuse(false);
    await untilSubscribed(server(), 3);
    return serverTime(server());
  }
});
