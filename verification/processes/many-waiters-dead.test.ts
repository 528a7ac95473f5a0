import { expect } from 'chai';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { ContenderPool } from './contender-pool.js';
import { Crowd, startFour } from './crowd.js';
import { DEATHS, expectOthersServed, grantWhilePaused, split } from './crowd-deaths.js';
import { claimTime, expectBack, leaseOf, type Ticket, ticketsOf } from './crowd-tickets.js';
import { serverTime } from './server-records.js';
import { muteUrl } from '../../test/support/subscribers.js';
import { eventually } from '../../test/support/eventually.js';

for (const subscriber of ['on', 'off'] as const) {
  const title = `a thousand waiters of whose processes one is killed (subscriber ${subscriber})`;
  describeWithServer(title, (server) => {
    let pool: ContenderPool;
    let crowd: Crowd | undefined;

    beforeEach(async () => {
      pool = await startFour(subscriber === 'on' ? server().url : await muteUrl(server()));
    });

    afterEach(async () => {
      pool.stop();
      await crowd?.close();
      expect('subscribe' in (await server().calls())).to.equal(subscriber === 'on');
    });

    for (const { title: how, hold, check } of DEATHS) {
      it(how, async () => {
        crowd = await Crowd.gather(server(), pool, { name: how, hold, apart: 2 });
        await check(server(), crowd, pool);
      }).timeout(120_000);
    }
  });
}

describeWithServer('a thousand waiters that poll, of whose processes one is killed', (server) => {
  let proxy: FaultProxy;
  let pool: ContenderPool;
  let crowd: Crowd | undefined;

  before(async () => {
    proxy = await startProxy(server().port);
    pool = await startFour(await muteUrl(server()), await muteUrl(server(), proxy.port));
  });

  after(async () => {
    pool.stop();
    await crowd?.close();
    await proxy.stop();
  });

  // They claim by asking again, and that gives them their whole ttl before they know.
  it('between a claim and its reply: its permits come back after the ttl', async () => {
    const ttl = 8000;
    const options = { name: 'unheard', hold: 15, apart: 2, ttl };
    const all = (crowd = await Crowd.gather(server(), pool, options));
    const parts = split(pool, all, pool.workers[0]?.pid);
    const { worker, dead, living } = parts;
    await grantWhilePaused(server(), all, parts);
    proxy.swallowReplies(true);
    const resumed = await serverTime(server());
    worker.resume();
    let lost: Ticket[] = [];
    await eventually(async () => {
      const tickets = await ticketsOf(server(), all, dead);
      lost = tickets.filter(({ granted, expiry }) => expiry > granted + claimTime);
      return lost.length > 0;
    }, 'it claims one');
    const claimed = await serverTime(server());
    const lease = await leaseOf(server(), all, dead);
    await all.kill(worker);
    const intervals = await all.served();
    for (const ticket of lost) {
      expect(ticket.expiry - ttl * 1000, 'claim').to.be.within(resumed, claimed);
      expectBack(ticket, lease, intervals);
    }
    await expectOthersServed(server(), all, intervals, living);
  }).timeout(120_000);
});
