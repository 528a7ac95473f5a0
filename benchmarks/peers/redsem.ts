import { type Backend, type RedisTarget, Semaphore } from '../../src/index.js';
import type { Connection } from './adapter.js';

export function redsemConnection(
  client: RedisTarget | Backend,
  closeClient: () => void,
): Connection {
  const semaphores = new Map<string, Semaphore>();
  return {
    acquire: async (name, limit, ttl, permits) => {
      let semaphore = semaphores.get(name);
      if (semaphore === undefined) {
        semaphore = new Semaphore(client, name, { limit, ttl });
        semaphores.set(name, semaphore);
      }
      const handle = await semaphore.acquire(permits === undefined ? undefined : { permits });
      return () => handle.release();
    },
    close: async () => {
      await Promise.all([...semaphores.values()].map((semaphore) => semaphore.close()));
      closeClient();
    },
  };
}
