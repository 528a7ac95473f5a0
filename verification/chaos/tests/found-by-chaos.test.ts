import { expect } from 'chai';

import { Semaphore } from '../../../src/index.js';
import { eventually } from '../../../test/support/eventually.js';
import { startProxy } from '../../../test/support/fault-proxy.js';
import { openClient } from '../../../test/support/open-client.js';
import { describeWithFakeClock } from '../../../test/support/require-server.js';

describeWithFakeClock('data lost while the clock is behind', (server) => {
  // --seed 8 --minutes 0.2 --ttl 600: tokens fell after the data was lost; arrival numbers, of
  // which they are made, fell as well, so that a request was passed by all that came later until
  // the clock had caught up.
  it('requests that return to their place stay before those that come later', async () => {
    const proxy = await startProxy(server().port);
    const clients = await Promise.all([
      openClient('redis', server().url),
      openClient('ioredis', `redis://127.0.0.1:${proxy.port}`),
    ]);
    const [semaphore, other] = clients.map(
      ({ target }) => new Semaphore(target, 'behind', { limit: 1, ttl: 5000 }),
    ) as [Semaphore, Semaphore];
    const untilWaiting = (count: number): Promise<unknown> =>
      eventually(async () => (await semaphore.inspect()).waiting === count, `${count} wait`);
    const granted: string[] = [];
    const lost = await semaphore.acquire();
    const early = other.use(() => void granted.push('early'));
    await untilWaiting(1);
    // It must not ask again before another has taken the permit.
    proxy.hang(true);
    await server().shiftClock(-5000);
    await server().command('FLUSHALL');
    const between = await semaphore.acquire();
    proxy.hang(false);
    await untilWaiting(1);
    const late = semaphore.use(() => void granted.push('late'));
    await untilWaiting(2);
    await between.release();
    await Promise.all([early, late]);
    expect(granted).to.deep.equal(['early', 'late']);
    expect(await lost.release()).to.equal(false);
    await Promise.all([semaphore.close(), other.close()]);
    await Promise.all(clients.map((client) => client.close()));
    await proxy.stop();
  });
});
