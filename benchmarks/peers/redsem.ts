import { type RedisTarget, Semaphore } from '../../src/index.js';
import type { Connection } from './adapter.js';

export function redsemConnection(client: RedisTarget, closeClient: () => void): Connection {
  const semaphores = new Map<string, Semaphore>();
  return {
    acquire: async (name, limit, ttl) => {
      let semaphore = semaphores.get(name);
      if (semaphore === undefined) {
        semaphore = new Semaphore(client, name, { limit, ttl });
        semaphores.set(name, semaphore);
      }
      const handle = await semaphore.acquire();
      return () => handle.release();
    },
    close: async () => {
      await Promise.all([...semaphores.values()].map((semaphore) => semaphore.close()));
      closeClient();
    },
  };
}
