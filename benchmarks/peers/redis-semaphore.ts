import { Semaphore } from 'redis-semaphore';

import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

/**
 * An object for each hold, as its README demands. Its retry and refresh intervals have their
 * defaults. By default a lost permit ends the process: here `release` reports it.
 */
export async function connect(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  return {
    acquire: async (name, limit, ttl) => {
      const options = { lockTimeout: ttl, acquireTimeout: Infinity, onLockLost: () => undefined };
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
