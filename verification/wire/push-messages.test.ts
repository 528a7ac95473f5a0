import { expect } from 'chai';

import { Semaphore, type SubscriptionEvents } from '../../src/index.js';
import { eventually } from '../../test/support/eventually.js';
import { connectionTo, openClient } from '../../test/support/open-client.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { StoredSemaphore } from '../../test/support/stored-semaphore.js';

describeWithServer('messages that any client may send', (server) => {
  it('make a permit that its first extension ends, at worst', async () => {
    const client = await openClient('redis', server().url);
    let send: (message: string) => void = () => undefined;
    const subscribe = (_channel: string, events: SubscriptionEvents) => {
      send = (message) => events.onMessage(message);
      setImmediate(() => events.onHealth(true));
      return { close: () => Promise.resolve() };
    };
    const runBySha = () => Promise.reject(new Error('NOSCRIPT'));
    const real = connectionTo(client.target);
    const semaphore = new Semaphore({ ...real, runBySha, subscribe }, 'jobs', { limit: 1 });
    const holder = await semaphore.acquire();
    const waiting = semaphore.acquire();
    const stored = new StoredSemaphore(server(), 'jobs');
    const id = await eventually(async () => (await stored.queue())[0] ?? false);
    send(`${id} 0 9 ${Math.round(1000 * ((await stored.now()) + 5000))}|jobs`);
    const forged = await waiting;
    expect(forged.fencingToken).to.equal(9);
    await eventually(() => !forged.held, 'it is lost');
    expect(holder.held).to.equal(true);
    await semaphore.close();
    await client.close();
  });
});
