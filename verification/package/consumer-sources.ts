/** Programs of a user of the package, as text: they must see the installed tarball, not src. */

export const ESM_CONSUMER: string = `
import { createRequire } from 'node:module';
import { MemoryBackend, Semaphore } from 'redsem';

const semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
const handle = await semaphore.acquire(1000);
const second = await semaphore.tryAcquire();
const released = await handle.release();
await semaphore.close();
const required = createRequire(import.meta.url)('redsem');
console.log(handle.slot, second, released, required.Semaphore === Semaphore);
`;

export const CJS_CONSUMER: string = `
const { MemoryBackend, Semaphore } = require('redsem');

async function main() {
  const semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
  console.log(await semaphore.use((handle) => handle.slot));
  await semaphore.close();
}
main();
`;

/** As `import` is written in TypeScript, and compiled to `require`. */
export const CJS_TYPES_CONSUMER: string = `
import type { Handle } from 'redsem';
import { MemoryBackend, Semaphore } from 'redsem';
import { instrument } from 'redsem/otel';

const semaphore: Semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
export const handle: Promise<Handle> = semaphore.acquire();
export const stop: () => void = instrument();
// @ts-expect-error a limit is needed
new Semaphore(new MemoryBackend(), 'packed');
`;

export const JEST_CONSUMER: string = `
const { KeyedMutex, MemoryBackend, Semaphore } = require('redsem');
const { instrument } = require('redsem/otel');

test('permits', async () => {
  const stop = instrument();
  const semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
  expect(await semaphore.use((handle) => handle.slot)).toBe(0);
  await expect(semaphore.acquire(-1)).rejects.toThrow(RangeError);
  await semaphore.close();
  stop();
});

test('keys', async () => {
  const mutex = new KeyedMutex(new MemoryBackend(), { stripes: 4 });
  expect(await mutex.use(['a', 'b'], (handle) => handle.keys)).toEqual(['a', 'b']);
  await mutex.close();
});
`;

/** The shapes of the API that a user relies on, and what must not compile; the samples of the docs call the rest. */
export const API_CONSUMER: string = `
import * as redsem from 'redsem';
import type {
  AcquireOptions, Backend, Clock, CompositeHandle, Handle, HandleData, KeyedHandle, RedisTarget, SemaphoreOptions,
  SemaphoreState, SemaphoreWarning, TryUseResult,
} from 'redsem';

declare const clock: Clock;
declare const data: HandleData;
export type Target = RedisTarget;

const backend: Backend = new redsem.MemoryBackend({ clock });
const retry = { min: 10, max: 200, factor: 2, jitter: true };
const options: SemaphoreOptions = { limit: 5, ttl: 30_000, extendEvery: 10_000, retry, prefix: 'a', label: 'b', clock };
const semaphore = new redsem.Semaphore(backend, 'video-encoders', options);
const wait: AcquireOptions = { timeout: 5000, signal: new AbortController().signal, permits: 2 };

function onHandle(handle: Handle): number {
  handle.on('lost', ({ reason }: { reason: 'expired' | 'missing' | 'revoked' | 'closed' }) => console.log(reason));
  handle.once('released', () => undefined);
  // @ts-expect-error there is no such event
  handle.on('gone', () => undefined);
  const text: [string, string, HandleData, AbortSignal] = [handle.id, handle.name, handle.toJSON(), handle.signal];
  const slots: readonly number[] = handle.slots;
  return handle.fencingToken + handle.slot + handle.expiresIn + Number(handle.held) + slots.length + text.length;
}

export async function useSemaphore(): Promise<unknown[]> {
  const maybe: Handle | null = await semaphore.tryAcquire({ permits: 2 });
  const used: [number, string] = [await semaphore.use(onHandle, 5000), await semaphore.use(async ({ id }) => id, wait)];
  const { held, limit, waiting, holders, waiters }: SemaphoreState = await semaphore.inspect();
  const numbers: number[] = waiters.map((one) => one.position + one.waitingFor + one.permits + held + limit + waiting);
  const tried: TryUseResult<number> = await semaphore.tryUse(onHandle, { permits: 2 });
  const result: number | undefined = tried.ran ? tried.result : undefined;
  // @ts-expect-error without a permit there is no result
  console.log(tried.result);
  await using scoped = await semaphore.acquire(wait);
  const revoked: boolean = await semaphore.revoke((await semaphore.adopt(data)).id);
  semaphore.on('warning', ({ code, message }: SemaphoreWarning) => {
    const known: 'EVICTION' | 'LIMIT_MISMATCH' | 'NODE_SET' | 'RELEASE_FAILED' = code;
    console.log(known, message);
  });
  return [maybe?.id, used, holders[0]?.expiresIn, numbers, result, scoped.id, revoked];
}

export async function useFaces(): Promise<unknown[]> {
  const mutex: redsem.Semaphore = new redsem.Mutex(backend, 'plain');
  const keyed = new redsem.KeyedMutex(backend, { name: 'users', stripes: 64, ttl: 5000 });
  const maybe: KeyedHandle | null = await keyed.tryAcquire('a');
  const used: number = await keyed.use(['a', 'b'], (handle) => handle.handleOf('a').fencingToken, wait);
  const all: CompositeHandle = await redsem.acquireAll([semaphore, { semaphore: mutex, permits: 1 }], 5000);
  const parts: readonly Handle[] = all.handles;
  const text: string = await redsem.useAll([semaphore], (handle) => handle.name, { timeout: 5000 });
  return [maybe?.keys, used, all.held, all.expiresIn, all.signal.aborted, parts, text, await all.release()];
}

export function explain(error: unknown): string {
  if (error instanceof redsem.AcquireTimeoutError) return \`\${error.timeout} \${error.waited} \${error.attempts}\`;
  if (error instanceof redsem.HandleLostError) return error.reason;
  if (error instanceof redsem.BackendError || error instanceof redsem.ClosedError) return error.message;
  return error instanceof redsem.RedsemError ? error.code : 'unknown';
}

export async function wrong(): Promise<void> {
  // @ts-expect-error a limit is a number
  await semaphore.setLimit('3');
  // @ts-expect-error the id alone is no ticket
  await semaphore.adopt('id');
  // @ts-expect-error an id is wanted
  await semaphore.revoke(data);
  // @ts-expect-error it does not wait
  await semaphore.tryUse(onHandle, { timeout: 5000 });
  // @ts-expect-error a mutex has no limit
  new redsem.Mutex(backend, 'mutex', { limit: 2 });
  // @ts-expect-error keys are strings
  void new redsem.KeyedMutex(backend).acquire([5]);
  // @ts-expect-error a limit is needed
  new redsem.Semaphore(backend, 'no limit', {});
  // @ts-expect-error a name is not a target
  new redsem.Semaphore('localhost', 'no client', options);
}
`;

/** Clients of every supported major, passed as they are. */
export const CLIENTS_CONSUMER: string = `
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis';
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis-6';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { createClient as createClient4, createCluster as createCluster4 } from 'redis-4';
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis-5';
import { Semaphore } from 'redsem';

const options = { limit: 5 };
const nodes = { rootNodes: [{ url: 'redis://127.0.0.1:6379' }] };
const sentinels = { name: 'main', sentinelRootNodes: [{ host: '127.0.0.1', port: 26379 }] };
const startup = [{ host: '127.0.0.1', port: 6379 }];

export async function build(): Promise<Semaphore[]> {
  return [
    new Semaphore(createClient(), 'redis 6', options),
    new Semaphore(createClient({ RESP: 2 }), 'redis 6, RESP 2', options),
    new Semaphore(await createClient().connect(), 'redis 6, connected', options),
    new Semaphore(createClientPool(), 'redis 6 pool', options),
    new Semaphore(createCluster(nodes), 'redis 6 cluster', options),
    new Semaphore(createSentinel(sentinels), 'redis 6 sentinel', options),
    new Semaphore(createClient5(), 'redis 5', options),
    new Semaphore(createClient5({ RESP: 3 }), 'redis 5, RESP 3', options),
    new Semaphore(createClientPool5(), 'redis 5 pool', options),
    new Semaphore(createCluster5(nodes), 'redis 5 cluster', options),
    new Semaphore(createSentinel5(sentinels), 'redis 5 sentinel', options),
    new Semaphore(createClient4(), 'redis 4', options),
    new Semaphore(createCluster4(nodes), 'redis 4 cluster', options),
    new Semaphore(new Redis5({ lazyConnect: true }), 'ioredis 5', options),
    new Semaphore(new Cluster5(startup, { lazyConnect: true }), 'ioredis 5 cluster', options),
    new Semaphore(new Redis6({ lazyConnect: true }), 'ioredis 6', options),
    new Semaphore(new Cluster6(startup, { lazyConnect: true }), 'ioredis 6 cluster', options),
  ];
}
`;
