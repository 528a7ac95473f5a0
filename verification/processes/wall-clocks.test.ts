import { expect } from 'chai';

import { describeWithFakeClock } from '../../test/support/require-server.js';
import type { WorkerProcess } from '../../test/support/worker-process.js';
import { type ContenderPool, startContenders } from './contender-pool.js';
import { acquireIn, startHolder } from './holder-process.js';
import { expectFencing, peakOf } from './hold-intervals.js';
import { leftKeys, readPeaks } from './holder-count.js';
import { expiryOf, liveTickets, serverTime } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';

const offsets = [60_000, -60_000];

describeWithFakeClock('processes whose wall clocks are a minute off', (server) => {
  let pool: ContenderPool | undefined;
  let holders: WorkerProcess[] = [];

  afterEach(() => {
    pool?.stop();
    for (const holder of holders) holder.kill();
  });

  it('keep the limit, and their tokens rise', async () => {
    const { url } = server();
    const name = 'wall clocks';
    pool = await startContenders([
      { kind: 'redis', url, wallClockOffset: 60_000 },
      { kind: 'ioredis', url, wallClockOffset: -60_000 },
    ]);
    const job = { name, limit: 2, tasks: 5, rounds: 8, hold: 10, ttl: 10_000 };
    const intervals = (await pool.run(job)).flat();
    expect(intervals).to.have.lengthOf(80);
    expect(peakOf(intervals)).to.equal(2);
    expect(await readPeaks(server(), name)).to.deep.equal({ holders: 2, tickets: 2 });
    expectFencing(intervals);
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });

  it('have tickets that live for their ttl, and keep them by extending', async () => {
    const args = { url: server().url, name: 'lives', limit: 2, ttl: 3000 };
    holders = await Promise.all(
      offsets.map((wallClockOffset) =>
        startHolder({ ...args, kind: 'redis' }, { wallClockOffset }),
      ),
    );
    const tickets = await Promise.all(holders.map(acquireIn));
    const born = await Promise.all(tickets.map(({ id }) => expiryOf(server(), args.name, id)));
    // Behind them: one that was extended since would seem to live for more than its ttl.
    const bornAt = await serverTime(server());
    for (const expiry of born) {
      expect(((expiry ?? 0) - bornAt) / 1000).to.be.within(1, args.ttl);
    }
    await eventually(async () => {
      const expiries = tickets.map(({ id }) => expiryOf(server(), args.name, id));
      return (await Promise.all(expiries)).every((expiry = 0) => expiry > bornAt + args.ttl * 1000);
    }, 'all are extended');
    expect(await liveTickets(server(), args.name)).to.equal(2);
    expect(holders.flatMap(({ messages }) => messages.map(({ type }) => type))).to.not.include(
      'lost',
    );
  });
});
