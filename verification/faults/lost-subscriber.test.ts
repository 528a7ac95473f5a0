import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis-6';
import { createClient } from 'redis';
import { createClient as createClient4 } from 'redis-4';
import { createClient as createClient5 } from 'redis-5';

import { ManualClock, type RedisTarget } from '../../src/index.js';
import { ClientFixture } from '../../test/support/client-fixture.js';
import { describeWithServer } from '../../test/support/require-server.js';
import { Fixture } from './fixture.js';

type Owned = RedisTarget & { disconnect(): unknown };

function ignore(): void {}

function never(port: number) {
  return { socket: { port, reconnectStrategy: false } } as const;
}

/** None of them connects again by itself; so neither do the copies of some. */
const stubborn: Record<string, (port: number) => Owned | Promise<Owned>> = {
  'redis 4': (port) => createClient4(never(port)).on('error', ignore).connect(),
  'redis 5': (port) => createClient5(never(port)).on('error', ignore).connect(),
  'redis 6': (port) => createClient(never(port)).on('error', ignore).connect(),
  'ioredis 5': (port) => new Redis({ port, retryStrategy: () => null }).on('error', ignore),
  'ioredis 6': (port) => new Redis6({ port, retryStrategy: () => null }).on('error', ignore),
};

describeWithServer('a subscriber that was lost', (server) => {
  let clients: ClientFixture;
  let fixture: Fixture;
  const opened: Owned[] = [];

  beforeEach(() => {
    clients = new ClientFixture('ioredis');
    fixture = new Fixture(server(), clients);
  });

  afterEach(async () => {
    await clients.close();
    for (const client of opened.splice(0)) await client.disconnect();
  });

  for (const [which, open] of Object.entries(stubborn)) {
    it(`comes back to a client of ${which} that never reconnects`, async () => {
      const [own, well] = [await open(server().port), await open(server().port)];
      opened.push(own, well);
      // No time passes on its clock: it has what it hears, and never polls.
      const one = fixture.over(own, { clock: new ManualClock() });
      const other = fixture.over(well);
      const first = await other.acquire();
      const before = one.acquire();
      await fixture.stored.expectListening();
      await server().command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await fixture.stored.expectListening();
      await first.release();
      // Heard, or found with the one try that follows a subscription.
      const held = await before;
      const second = other.acquire();
      await fixture.untilQueued(1);
      await held.release();
      const again = one.acquire();
      await fixture.untilQueued(1);
      await (await second).release();
      // Only heard.
      await (await again).release();
    });
  }
});
