import { expect } from 'chai';

import { describeWithServer } from '../../test/support/require-server.js';
import type { ContenderPool } from './contender-pool.js';
import { Crowd, expectPolled, limit, startFour, toldShare } from './crowd.js';
import { peakOf } from './hold-intervals.js';
import { muteUrl } from '../../test/support/subscribers.js';

describeWithServer('a thousand waiters', (server) => {
  let pool: ContenderPool;
  let crowd: Crowd | undefined;

  before(async () => {
    pool = await startFour(server().url);
  });

  afterEach(() => crowd?.close());

  after(() => pool.stop());

  it('are all served, in the order in which they arrived', async () => {
    crowd = await Crowd.gather(server(), pool, { name: 'at once', hold: 1 });
    await crowd.openGate();
    const intervals = await crowd.served();
    expect(peakOf(intervals)).to.equal(limit);
    await crowd.expectServed(intervals);
  }).timeout(120_000);

  it('are all served in that order where the processes take turns', async () => {
    crowd = await Crowd.gather(server(), pool, { name: 'by turns', hold: 1, apart: 2 });
    await crowd.openGate();
    const intervals = await crowd.served();
    expect(toldShare(intervals), 'told of their grants').to.be.at.least(0.9);
    await crowd.expectServed(intervals);
  }).timeout(120_000);
});

describeWithServer('a thousand waiters without the right to subscribe', (server) => {
  let pool: ContenderPool | undefined;
  let crowd: Crowd | undefined;

  after(async () => {
    pool?.stop();
    await crowd?.close();
  });

  it('are all served, in the order in which they arrived, by polling alone', async () => {
    pool = await startFour(await muteUrl(server()));
    crowd = await Crowd.gather(server(), pool, { name: 'polling', hold: 5, apart: 2 });
    await crowd.openGate();
    const intervals = await crowd.served();
    expect(await server().calls()).to.not.have.property('subscribe');
    expectPolled(intervals, crowd);
    await crowd.expectServed(intervals);
  }).timeout(120_000);
});
