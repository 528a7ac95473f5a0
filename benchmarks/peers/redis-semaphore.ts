import { Semaphore } from 'redis-semaphore';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/**
 * One object for each hold, as its README wants it; its retry and refresh intervals are left at
 * their defaults.
 */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  return {
    acquire: async (name, limit, ttl) => {
      const options = { lockTimeout: ttl, acquireTimeout: Infinity };
      const semaphore = new Semaphore(client, name, limit, options);
      await semaphore.acquire();
      return async () => {
        const held = semaphore.isAcquired;
        await semaphore.release();
        return held;
      };
    },
    close: async () => client.disconnect(),
  };
}
