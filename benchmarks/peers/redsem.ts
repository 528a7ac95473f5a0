import { subscribe, tracingChannel } from 'node:diagnostics_channel';

import { createClient } from 'redis';

import {
  type Backend,
  KeyedMutex,
  KeyedSemaphore,
  MemoryBackend,
  type RedisTarget,
  Semaphore,
  type SemaphoreOptions,
} from '../../src/index.js';
import { Keeper } from '../../src/keeper/index.js';
import { telemetry } from '../../src/telemetry.js';
import type { Connection } from './adapter.js';
import { openIoredis } from './ioredis-client.js';

export async function connectIoredis(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  return redsemConnection(client, () => client.disconnect());
}

export async function connectKept(url: string): Promise<Connection> {
  const client = await openIoredis(url);
  const keeper = new Keeper({ ioredis: { port: Number(new URL(url).port) } });
  return redsemConnection(
    client,
    () => void keeper.close().then(() => client.disconnect()),
    keeper,
  );
}

export async function connectNodeRedis(url: string): Promise<Connection> {
  const client = await createClient({ url }).connect();
  return redsemConnection(client, () => client.destroy());
}

export async function connectMemory(): Promise<Connection> {
  return redsemConnection(new MemoryBackend(), () => {});
}

/** A program that subscribes to every channel and ignores the messages. */
export async function connectHeard(url: string): Promise<Connection> {
  let messages = 0;
  const listen = (): void => {
    messages += 1;
  };
  const all = { start: listen, end: listen, asyncStart: listen, asyncEnd: listen, error: listen };
  tracingChannel('redsem:acquire').subscribe(all);
  for (const name of Object.keys(telemetry)) {
    if (name !== 'acquire') subscribe(`redsem:${name}`, listen);
  }
  const connection = await connectNodeRedis(url);
  const release = await connection.acquire('heard', 1, 1000);
  await release();
  // Without a subscriber the row would show the cost of no subscriber.
  if (messages < 5) throw new Error(`only ${messages} messages of a pair were heard`);
  return connection;
}

function redsemConnection(
  client: RedisTarget | Backend,
  closeClient: () => void,
  keeper?: Keeper,
): Connection {
  const semaphores = new Map<string, Semaphore>();
  const semaphoreOf = (name: string, options: SemaphoreOptions): Semaphore => {
    const made = semaphores.get(name) ?? new Semaphore(client, name, options);
    semaphores.set(name, made);
    return made;
  };
  let keyed: KeyedMutex | undefined;
  let perKey: KeyedSemaphore | undefined;
  return {
    acquire: async (name, limit, ttl, wanted) => {
      const handle = await semaphoreOf(name, { limit, ttl, keeper }).acquire(wanted);
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
    acquireUnderRules: async (name, limit, ttl) => {
      const budget = { amount: 90_000_000, per: 60_000 };
      const options = { limit, ttl, groupLimit: 8, budgets: { tokens: budget, money: budget } };
      const wanted = { group: 'acme', cost: { tokens: 4000, money: 3 } };
      const handle = await semaphoreOf(name, options).acquire(wanted);
      return () => handle.release({ spent: { tokens: 3120, money: 2 } });
    },
    close: async () => {
      await keyed?.close();
      await perKey?.close();
      await Promise.all([...semaphores.values()].map((semaphore) => semaphore.close()));
      closeClient();
    },
  };
}
