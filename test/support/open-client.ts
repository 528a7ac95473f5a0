import type { RedisTarget } from '../../src/index.js';

export const clientKinds = ['redis', 'redis-5', 'redis-4', 'ioredis', 'ioredis-6'] as const;

export type ClientKind = (typeof clientKinds)[number];

interface Emitter {
  eventNames(): (string | symbol)[];
  listenerCount(name: string | symbol): number;
}

export interface OpenClient {
  readonly target: RedisTarget;
  readonly emitter: Emitter;
  /** Runs a script of the test's own on the same connection. */
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  close(): Promise<void>;
}

// Loaded when wanted: all of them together take a worker process half a second.
const openers: Record<ClientKind, (url: string) => Promise<OpenClient>> = {
  redis: async (url) => openNodeRedis((await import('redis')).createClient({ url })),
  'redis-5': async (url) => openNodeRedis((await import('redis-5')).createClient({ url })),
  'redis-4': async (url) => openNodeRedis((await import('redis-4')).createClient({ url })),
  ioredis: async (url) => openIoredis(new (await import('ioredis')).Redis(url, lazy)),
  'ioredis-6': async (url) => openIoredis(new (await import('ioredis-6')).Redis(url, lazy)),
};
const lazy = { lazyConnect: true };

/** A connected client of one of the packages and majors that are supported. */
export function openClient(kind: ClientKind, url: string): Promise<OpenClient> {
  return openers[kind](url);
}

interface NodeRedis extends Emitter {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(script: string, options: ScriptArguments): Promise<unknown>;
  destroy?(): void;
  disconnect(): Promise<unknown>;
}

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

interface Ioredis extends Emitter {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<void>;
  evalsha(sha1: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...rest: string[]): Promise<unknown>;
  disconnect(): void;
}

async function openNodeRedis(client: NodeRedis): Promise<OpenClient> {
  // Without a listener a lost connection would end the process.
  client.on('error', () => undefined);
  await client.connect();
  return {
    target: client,
    emitter: client,
    run: (script, keys, args) => client.eval(script, { keys: [...keys], arguments: [...args] }),
    close: async () => {
      if (client.destroy === undefined) await client.disconnect();
      else client.destroy();
    },
  };
}

async function openIoredis(client: Ioredis): Promise<OpenClient> {
  client.on('error', () => undefined);
  await client.connect();
  return {
    target: client,
    emitter: client,
    run: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    close: () => {
      client.disconnect();
      return Promise.resolve();
    },
  };
}
