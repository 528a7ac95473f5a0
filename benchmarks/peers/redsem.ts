import {
  type Backend,
  KeyedMutex,
  KeyedSemaphore,
  type RedisTarget,
  Semaphore,
} from '../../src/index.js';
import type { Connection } from './adapter.js';

export function redsemConnection(
  client: RedisTarget | Backend,
  closeClient: () => void,
): Connection {
  const semaphores = new Map<string, Semaphore>();
  let keyed: KeyedMutex | undefined;
  let perKey: KeyedSemaphore | undefined;
  return {
    acquire: async (name, limit, ttl, wanted) => {
      let semaphore = semaphores.get(name);
      if (semaphore === undefined) {
        semaphore = new Semaphore(client, name, { limit, ttl });
        semaphores.set(name, semaphore);
      }
      const handle = await semaphore.acquire(wanted);
      return () => handle.release();
    },
    acquireKey: async (key, limit, ttl) => {
      perKey ??= new KeyedSemaphore(client, { limit, ttl });
      const handle = await perKey.acquire(key);
      return () => handle.release();
    },
    acquireKeys: async (keys, ttl) => {
      keyed ??= new KeyedMutex(client, { ttl });
      const handle = await keyed.acquire(keys);
      return () => handle.release();
    },
    close: async () => {
      await keyed?.close();
      await perKey?.close();
      await Promise.all([...semaphores.values()].map((semaphore) => semaphore.close()));
      closeClient();
    },
  };
}
