import { expect } from 'chai';

import { Semaphore } from '../../src/index.js';
import { ManualClock } from '../../src/manual-clock.js';
import { ScriptBench, closeBenches, granted } from '../scripts/script-bench.js';
import { describeWithServer } from '../support/require-server.js';
import { FaultyProcess } from './faulty-process.js';
import { LossyServer } from './lossy-server.js';

describe('found by random programs', () => {
  it('a pushed grant is not trusted for longer than a ttl below the claim time', async () => {
    const clock = new ManualClock();
    const server = new LossyServer(clock);
    const shared = server.backend;
    const backend = new FaultyProcess(server);
    const options = { limit: 1, ttl: 500, extendEvery: 0 };
    const holder = await new Semaphore(shared, 'short', options).acquire();
    const waiting = new Semaphore(backend, 'short', options).acquire();
    await clock.advance(1);
    await holder.release();
    const handle = await waiting;
    // The ticket now lives for the ttl, not for the claim time.
    await backend.become('losing answers');
    handle.extend().catch(() => undefined);
    await clock.advance(0);
    await backend.become('cut off');
    await clock.advance(500);
    expect((await new Semaphore(shared, 'short', options).tryAcquire())?.held).to.equal(true);
    expect(handle.held).to.equal(false);
  });

  it('a ticket that a second run of a call got after a loss of data is not extended for the lost one', async () => {
    const clock = new ManualClock();
    const server = new LossyServer(clock);
    const backend = new FaultyProcess(server);
    const options = { limit: 2, ttl: 1500 };
    await backend.become('twice');
    const handle = await new Semaphore(backend, 'twice', options).acquire();
    await server.lose('flushed', { prefix: 'redsem', name: 'twice' }, 2);
    const other = await new Semaphore(new FaultyProcess(server), 'twice', options).acquire();
    await backend.become('well');
    await clock.advance(1500);
    expect([handle.slots, handle.held]).to.deep.equal([[0], false]);
    expect([other.slots, other.held]).to.deep.equal([[0], true]);
    const { holders } = await new Semaphore(backend, 'twice', options).inspect();
    expect(holders.map(({ id }) => id)).to.deep.equal([other.id]);
    await other.release();
  });
});

describeWithServer('found by random programs on a server', (server) => {
  after(closeBenches);

  it('a ticket is gone that expired just as its keys did', async () => {
    const bench = new ScriptBench(server(), { limit: 1, ttl: 2000 });
    const calls = [
      async () => (await bench.release('a.1')).released[0],
      async () => (await bench.revoke('a.1')).revoked,
      async () => (await bench.extend('a.1')).extended[0],
    ];
    for (const call of calls) {
      await bench.take('a.1');
      // Past its expiry, the grace of its keys, and what they live longer so as not to be moved by every call.
      bench.pass(4000);
      expect(await call()).to.equal(false);
    }
    await bench.take('a.1');
    bench.pass(4000);
    expect(granted((await bench.acquire('b.1')).verdicts[0]).slots).to.deep.equal([0]);
  });
});
