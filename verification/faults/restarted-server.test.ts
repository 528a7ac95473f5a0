import { expect } from 'chai';
import { once } from 'node:events';

import { AcquireTimeoutError, type HandleLostError } from '../../src/index.js';
import { errorOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { Crew } from './crew.js';
import { throughBothClients } from './fixture.js';

describeWithServer('a server that restarts', (server) => {
  const test = throughBothClients(server);
  afterEach('bring the server back', () => server().restart());

  test('without data loses handles, keeps waiters, and tokens rise', async (fixture) => {
    const options = { limit: 2, ttl: 10_000, extendEvery: 50 };
    const [one, other] = [await fixture.semaphore(options), await fixture.semaphore(options)];
    const held = [await one.acquire(), await other.acquire()];
    const lost = held.map((handle) => once(handle, 'lost') as Promise<[HandleLostError]>);
    const waiting = [one.acquire(10_000), other.acquire(10_000)];
    await fixture.untilQueued(2);
    await server().restart();
    for (const [{ reason }] of await Promise.all(lost)) expect(reason).to.equal('missing');
    const granted = await Promise.all(waiting);
    await fixture.stored.expectHeldBy(granted);
    await fixture.stored.expectWithin(2);
    const before = Math.max(...held.map(({ fencingToken }) => fencingToken));
    for (const handle of granted) expect(handle.fencingToken).to.be.above(before);
    for (const handle of held) expect(await handle.release()).to.equal(false);
    for (const handle of granted) expect(await handle.release()).to.equal(true);
    await fixture.expectUsable(one, before);
  });

  test('is waited for inside the timeout, and costs a permit at its local deadline', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl: 2000 });
    const handle = await semaphore.acquire();
    const lost = once(handle, 'lost') as Promise<[HandleLostError]>;
    await server().kill();
    const patient = semaphore.acquire(60_000);
    expect(handle.held).to.equal(true);
    const [error] = await lost;
    expect(error.reason).to.equal('expired');
    expect(error.cause).to.be.instanceOf(Error);
    expect(await handle.release()).to.equal(false);
    await server().restart();
    const next = await patient;
    expect(next.fencingToken).to.be.above(handle.fencingToken);
    expect(await next.release()).to.equal(true);
    await fixture.expectUsable(semaphore, next.fencingToken);
  });

  test('that is away is told from a lack of permits by the cause', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl: 200 });
    await server().kill();
    for (const timeout of [0, 100, 400]) {
      const error = await errorOf(semaphore.acquire(timeout), AcquireTimeoutError);
      expect(error.cause, `acquire(${timeout})`).to.be.instanceOf(Error);
    }
  });

  test('with data a little older hands no permit to what was served since', async (fixture) => {
    const crew = await Crew.start(await fixture.semaphore());
    await crew.claimed();
    await server().command('SAVE');
    await crew.serve(10);
    await server().kill();
    await server().restart();
    await crew.serve(10);
    await crew.stop();
  });
});
