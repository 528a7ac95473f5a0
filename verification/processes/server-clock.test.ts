import { expect } from 'chai';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { type HandleLostError, Semaphore } from '../../src/index.js';
import { describeWithFakeClock } from '../../test/support/require-server.js';
import { leftKeys } from './holder-count.js';
import { type OpenClient, openClient } from '../../test/support/open-client.js';
import { expiryOf, liveTickets, serverTime } from './server-records.js';
import { eventually } from '../../test/support/eventually.js';
import { LATE_MS, timed } from '../support/timed.js';

const limit = 1;
/** For the server, which other load may hold up, in milliseconds. */
const slack = 1000;
/** The longest pause between tries of a waiter, in milliseconds. */
const pause = 1500;

describeWithFakeClock('a server whose clock is stepped', (server) => {
  let clients: OpenClient[];
  let holding: OpenClient;
  let waiting: OpenClient;

  beforeEach(async () => {
    const { url } = server();
    clients = await Promise.all([openClient('redis', url), openClient('ioredis', url)]);
    [holding, waiting] = clients as [OpenClient, OpenClient];
  });

  afterEach(() => Promise.all(clients.map((client) => client.close())));

  async function untilQueued(sem: Semaphore, count = 1): Promise<void> {
    await eventually(async () => (await sem.inspect()).waiting === count, 'it waits');
  }

  async function untilPushesArrive(): Promise<void> {
    const channels = async (): Promise<unknown> => server().command('PUBSUB', 'CHANNELS');
    await eventually(async () => ((await channels()) as []).length > 0, 'the subscription stands');
    // The waiter hears of that, and asks once more.
    await sleep(100);
  }

  it('forward beyond the life of a ticket: it is lost as missing, and the next holder has a higher token', async () => {
    const name = 'forward';
    const holder = new Semaphore(holding.target, name, { limit, ttl: 3000 });
    const waiter = new Semaphore(waiting.target, name, { limit, ttl: 3000 });
    const first = await holder.acquire();
    const lost = once(first, 'lost') as Promise<[HandleLostError]>;
    const acquiring = waiter.acquire();
    await untilQueued(holder);
    await untilPushesArrive();
    await server().shiftClock(5000);
    const { value: second, took } = await timed(() => acquiring);
    expect(took).to.be.below(pause + LATE_MS + slack);
    expect(await liveTickets(server(), name)).to.equal(1);
    expect((await lost)[0].reason).to.equal('missing');
    expect(first.held).to.equal(false);
    expect(second.held).to.equal(true);
    expect(second.fencingToken).to.be.above(first.fencingToken);
    expect(await expiryOf(server(), name, second.id)).to.be.a('number');
    await Promise.all([holder.close(), waiter.close()]);
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });

  it('forward within the life of a ticket: it is kept, and its release serves the waiter', async () => {
    const name = 'forward within';
    const holder = new Semaphore(holding.target, name, { limit });
    const waiter = new Semaphore(waiting.target, name, { limit });
    const first = await holder.acquire();
    const acquiring = waiter.acquire();
    await untilQueued(holder);
    await server().shiftClock(5000);
    await first.extend();
    expect(first.held).to.equal(true);
    const { value: second, took } = await timed(async () => {
      expect(await first.release()).to.equal(true);
      return acquiring;
    });
    // The step has ended the waiter's lease, too: it asks again for its place.
    expect(took).to.be.below(pause + LATE_MS + slack);
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await Promise.all([holder.close(), waiter.close()]);
  });

  it('forward while nobody asks: a free permit is granted at once all the same', async () => {
    const name = 'forward idle';
    const holder = new Semaphore(holding.target, name, { limit });
    const waiter = new Semaphore(waiting.target, name, { limit });
    const first = await holder.acquire();
    const acquiring = waiter.acquire();
    await untilQueued(holder);
    await first.release();
    await (await acquiring).release();
    for (const acquire of [() => waiter.acquire(1000), () => waiter.tryAcquire()]) {
      await server().shiftClock(10_000);
      const { value: handle, took } = await timed(acquire);
      expect(handle).to.not.equal(null);
      expect(took).to.be.below(LATE_MS + slack);
      await handle?.release();
    }
    await Promise.all([holder.close(), waiter.close()]);
  });

  it('forward just before a grant is pushed: its holder is no surer of it than the server, and claims it in time', async () => {
    const name = 'forward claim';
    const holder = new Semaphore(holding.target, name, { limit });
    const waiter = new Semaphore(waiting.target, name, { limit, ttl: 5000, extendEvery: 2500 });
    const first = await holder.acquire();
    const acquiring = waiter.acquire();
    await untilQueued(holder);
    await untilPushesArrive();
    // Less than a waiter's lease: else its request would be dropped, not granted.
    await server().shiftClock(3200);
    await first.release();
    const second = await acquiring;
    const claimUntil = (await expiryOf(server(), name, second.id)) ?? 0;
    const left = (claimUntil - (await serverTime(server()))) / 1000;
    expect(second.expiresIn).to.be.at.most(left);
    await eventually(
      async () => ((await expiryOf(server(), name, second.id)) ?? 0) > claimUntil || !second.held,
      'the ticket is extended, or its holder knows that it is not certain',
    );
    await Promise.all([holder.close(), waiter.close()]);
  });

  it('back while a permit is held and awaited: the limit is kept, tokens rise, nobody is lost', async () => {
    const name = 'back';
    const holder = new Semaphore(holding.target, name, { limit, ttl: 3000 });
    const waiter = new Semaphore(waiting.target, name, { limit, ttl: 3000 });
    const first = await holder.acquire();
    const acquiring = waiter.acquire();
    await untilQueued(holder);
    await server().shiftClock(-5000);
    await first.extend();
    expect(await liveTickets(server(), name)).to.equal(1);
    const { value: second, took } = await timed(async () => {
      expect(await first.release()).to.equal(true);
      return acquiring;
    });
    expect(took).to.be.below(LATE_MS + slack);
    expect(second.held).to.equal(true);
    expect(second.fencingToken).to.be.above(first.fencingToken);
    await second.extend();
    await second.release();
    const third = await holder.acquire();
    expect(third.fencingToken).to.be.above(second.fencingToken);
    await Promise.all([holder.close(), waiter.close()]);
    expect(await leftKeys(server(), name)).to.deep.equal(['meta']);
  });

  it('back after a holder died: its ticket lives that much longer, and still expires', async () => {
    const name = 'back dead';
    const ttl = 600;
    const holder = new Semaphore(holding.target, name, { limit, ttl });
    const waiter = new Semaphore(waiting.target, name, { limit, ttl });
    const dead = await holder.acquire();
    await holding.close();
    await server().shiftClock(-5000);
    expect(await waiter.tryAcquire()).to.equal(null);
    for (const key of await leftKeys(server(), name)) {
      const life = await server().command('PTTL', `redsem:{${name}}:${key}`);
      expect(life, `life of ${key}`).to.be.above(0);
    }
    const acquiring = waiter.acquire();
    await untilQueued(waiter);
    await server().shiftClock(5000);
    const { value: next, took } = await timed(() => acquiring);
    expect(took).to.be.below(ttl + pause + LATE_MS + slack);
    expect(next.fencingToken).to.be.above(dead.fencingToken);
    await waiter.close();
    expect(dead.held).to.equal(false);
  });
});
