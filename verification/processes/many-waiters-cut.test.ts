import { expect } from 'chai';

import { type FaultProxy, startProxy } from '../../test/support/fault-proxy.js';
import { describeWithServer } from '../../test/support/require-server.js';
import type { ContenderPool } from './contender-pool.js';
import { Crowd, type CrowdOptions, expectPolled, expectTold, startFour } from './crowd.js';
import { whileRepeating } from './repeat.js';
import { serverTime } from './server-records.js';
import { cutSubscribers, untilSubscribed } from '../../test/support/subscribers.js';

describeWithServer('a thousand waiters whose subscribers are cut off', (server) => {
  let proxy: FaultProxy;
  let pool: ContenderPool;
  const crowds: Crowd[] = [];

  before(async () => {
    await setUser('on', '>word', '~*', '&*', '+@all');
    proxy = await startProxy(server().port);
    pool = await startFour(`redis://some:word@127.0.0.1:${proxy.port}`);
  });

  afterEach(async () => {
    proxy.refuse(false);
    await setUser('+subscribe');
    await Promise.all(crowds.splice(0).map((crowd) => crowd.close()));
  });

  after(async () => {
    pool.stop();
    await proxy.stop();
  });

  it('again and again are all served, in the order in which they arrived', async () => {
    const crowd = await gather({ name: 'cut', hold: 10 });
    const { value, results } = await whileRepeating(
      15,
      () => cutSubscribers(server()),
      async () => {
        await crowd.openGate();
        return crowd.served();
      },
    );
    const cut = results.reduce((sum, count) => sum + count, 0);
    expect(cut, 'subscribers cut').to.be.at.least(12);
    await crowd.expectServed(value);
  }).timeout(120_000);

  it('and lose the right to subscribe go on by polling, until it is given back', async () => {
    const first = await gather({ name: 'withdrawn', hold: 5 });
    await first.openGate();
    await first.thinOut(900);
    await setUser('-subscribe');
    await cutSubscribers(server());
    await untilSubscribed(server(), 0);
    await server().resetStatistics();
    const withdrawn = await serverTime(server());
    const intervals = await first.served();
    expect(await server().calls()).to.not.have.property('subscribe');
    expectPolled(
      intervals.filter(({ token }) => token > withdrawn),
      first,
    );
    await first.expectServed(intervals);

    await setUser('+subscribe');
    const second = await gather({ name: 'given back', hold: 1 });
    await second.openGate();
    const later = await second.served();
    expectTold(later);
    await second.expectServed(later);
  }).timeout(240_000);

  it('and cannot connect for a while are told of their grants again afterwards', async () => {
    const crowd = await gather({ name: 'restored', hold: 15 });
    await crowd.openGate();
    await crowd.thinOut(950);
    // The connections that stand go on.
    proxy.refuse(true);
    await cutSubscribers(server());
    await untilSubscribed(server(), 0);
    const cut = await serverTime(server());
    await crowd.thinOut(800);
    const before = await serverTime(server());
    proxy.refuse(false);
    await untilSubscribed(server(), 4);
    const restored = await serverTime(server());
    await server().resetStatistics();
    const intervals = await crowd.served();
    const { evalsha = Infinity } = await server().calls();
    expectPolled(
      intervals.filter(({ token }) => token > cut && token < before),
      crowd,
    );
    const later = intervals.filter(({ token }) => token > restored);
    expectTold(later);
    // One for each release; those who know that they will be told hardly ever ask.
    expect(evalsha, 'calls').to.be.at.most(1.3 * later.length);
    await crowd.expectServed(intervals);
  }).timeout(120_000);

  /** The processes by turns, so that nearly every permit goes from one to another; all four listen. */
  async function gather(options: CrowdOptions): Promise<Crowd> {
    const crowd = await Crowd.gather(server(), pool, { ...options, apart: 2 });
    crowds.push(crowd);
    await untilSubscribed(server(), 4);
    return crowd;
  }

  async function setUser(...rules: string[]): Promise<void> {
    await server().command('ACL', 'SETUSER', 'some', ...rules);
  }
});
