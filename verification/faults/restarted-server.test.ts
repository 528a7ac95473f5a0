import { expect } from 'chai';
import { once } from 'node:events';

import { AcquireTimeoutError, type HandleLostError } from '../../src/index.js';
import { errorOf } from '../../test/support/rejection.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { throughBothClients } from './fixture.js';

describeWithServer('a server that restarts', (server) => {
  const test = throughBothClients(server);
  afterEach('bring the server back', () => server().restart());

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

  test('that is away is distinguished from a lack of permits by the cause', async (fixture) => {
    const semaphore = await fixture.semaphore({ ttl: 200 });
    await server().kill();
    for (const timeout of [0, 100, 400]) {
      const error = await errorOf(semaphore.acquire(timeout), AcquireTimeoutError);
      expect(error.cause, `acquire(${timeout})`).to.be.instanceOf(Error);
    }
  });
});
