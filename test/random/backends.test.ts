import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { setImmediate as turn } from 'node:timers/promises';

import type { GrantListener, Listening } from '../../src/backend.js';
import { ManualClock } from '../../src/manual-clock.js';
import { MemoryBackend } from '../../src/memory/memory-backend.js';
import { ioredisConnection } from '../../src/redis/adapters/ioredis.js';
import { inboxChannels } from '../../src/redis/keys.js';
import { RedisBackend } from '../../src/redis/redis-backend.js';
import { describeWithServer } from '../support/require-server.js';
import { BackendSide, PREFIX, START } from './backend-side.js';
import { type Backends, CLIENTS, newPlan, programs } from './programs.js';
import { ReferenceModel } from './reference-model.js';
import { check } from './reproducible.js';

describeWithServer('random programs', (server) => {
  let redis: Redis;
  let backend: RedisBackend;
  let clock = new ManualClock(START);
  let side: BackendSide | undefined;
  let semaphores = 0;
  const subscriptions: Listening[] = [];
  /** Clients whose last message of a program has come. */
  const done = new Set<string>();
  let onDone = (): void => {};

  before('one subscription for each client, for all programs', async () => {
    redis = new Redis(server().port, '127.0.0.1');
    // The server stops first.
    redis.on('error', () => {});
    backend = new RedisBackend({
      ...ioredisConnection(redis),
      serverClock: () => clock.wall(),
    });
    for (const { name } of CLIENTS) {
      await new Promise<void>((resolve) => {
        const listening = backend.listen?.(name, PREFIX, listener(name, resolve));
        if (listening !== undefined) subscriptions.push(listening);
      });
    }
  });
  after(async () => {
    await Promise.all(subscriptions.map((one) => one.close()));
    redis.disconnect();
  });

  it('give the same on the memory backend, on Redis and on paper', async () => {
    const limits = fc.integer({ min: 1, max: 5 });
    const property = fc.asyncProperty(limits, programs(120), async (limit, program) => {
      const model = new ReferenceModel(limit);
      const backends = prepare(limit);
      try {
        await fc.asyncModelRun(() => ({ model: newPlan(model), real: backends }), program);
      } finally {
        await allPushed();
      }
      for (const one of backends.sides) one.expectPushes(model);
    });
    await check(property, 150);
  });

  function prepare(limit: number): Backends {
    clock = new ManualClock(START);
    semaphores += 1;
    const name = `program-${semaphores}`;
    const memory = new MemoryBackend({ clock });
    const sides = [new BackendSide(memory, name, limit), new BackendSide(backend, name, limit)];
    side = sides[1];
    for (const client of CLIENTS) {
      const heard = sides[0]?.listenerOf(client.name);
      sides[1]?.listenerOf(client.name);
      memory.listen(client.name, PREFIX, {
        onGrants: (grants) => heard?.grants.push(...grants),
        onEnded: (ended) => heard?.ends.push(...ended.map(({ id, reason }) => `${id} ${reason}`)),
        onHealth: () => {},
      });
    }
    return { clock, sides };
  }

  function listener(client: string, onHealthy: () => void): GrantListener {
    return {
      onGrants: (grants, name) => {
        if (name === 'last') done.add(client);
        else side?.pushedGrants.get(client)?.push(...grants);
        if (done.size === CLIENTS.length) onDone();
      },
      onEnded: (ended) => {
        const plain = ended.map(({ id, reason }) => `${id} ${reason}`);
        side?.pushedEnds.get(client)?.push(...plain);
      },
      onHealth: onHealthy,
    };
  }

  /** Messages of one channel come in their order: after the last one there are no more. */
  async function allPushed(): Promise<void> {
    await turn();
    done.clear();
    const all = new Promise<void>((resolve) => {
      onDone = resolve;
    });
    for (const { name } of CLIENTS) {
      await redis.publish(`${inboxChannels(PREFIX)}${name}`, `${name}.0 0 0 0|last`);
    }
    await all;
  }
});
