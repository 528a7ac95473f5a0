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
const redsem = require('redsem');
const { MemoryBackend, Semaphore } = redsem;
// Messages show the names of classes.
const renamed = Object.keys(redsem).filter((name) => (redsem[name].name ?? name) !== name);

async function main() {
  const semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
  console.log(await semaphore.use((handle) => handle.slot), renamed.join());
  await semaphore.close();
}
main();
`;

/** As `import` is written in TypeScript, and compiled to `require`. */
export const CJS_TYPES_CONSUMER: string = `
import type { Handle } from 'redsem';
import type { AcquireCall, Backend } from 'redsem/backend';
import { MemoryBackend, Semaphore } from 'redsem';
import { instrument } from 'redsem/otel';
import { webView } from 'redsem/web';
import { toNodeListener } from 'redsem/web/node';

export const listener: ReturnType<typeof toNodeListener> = toNodeListener(webView(new MemoryBackend()));
const semaphore: Semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
export const handle: Promise<Handle> = semaphore.acquire();
export const stop: () => void = instrument();
export const port: Backend = new MemoryBackend();
export const call: (one: AcquireCall) => number = ({ limit }) => limit;
// @ts-expect-error a limit is needed
new Semaphore(new MemoryBackend(), 'packed');
`;

export const JEST_CONSUMER: string = `
const { MemoryBackend, Semaphore } = require('redsem');
const { instrument } = require('redsem/otel');
const { webView } = require('redsem/web');

test('the port has types alone', () => expect(Object.keys(require('redsem/backend'))).toEqual([]));

test('permits', async () => {
  const stop = instrument();
  const semaphore = new Semaphore(new MemoryBackend(), 'packed', { limit: 1 });
  expect(await semaphore.use((handle) => handle.slot)).toBe(0);
  await expect(semaphore.acquire(-1)).rejects.toThrow(RangeError);
  await semaphore.close();
  stop();
});

test('the web view, on what the library made', async () => {
  const view = webView(new MemoryBackend(), { names: ['packed'] });
  const page = await (await view(new Request('http://localhost/'))).text();
  expect(page).toMatch(/^<!doctype html>/i);
  const list = await (await view(new Request('http://localhost/api/list'))).json();
  expect(list.semaphores[0].name).toBe('packed');
});
`;

/** Code that must not compile. The samples of the docs must compile. */
export const API_CONSUMER: string = `
import * as redsem from 'redsem';
// @ts-expect-error the port is redsem/backend
import type { AcquireCall } from 'redsem';
import type { Handle, HandleData, SemaphoreOptions, TryUseResult } from 'redsem';

declare const data: HandleData;
declare const backend: redsem.Backend;
declare const options: SemaphoreOptions;
declare const semaphore: redsem.Semaphore;

export async function wrong(handle: Handle, tried: TryUseResult<number>): Promise<void> {
  // @ts-expect-error there is no such event
  handle.on('gone', () => undefined);
  // @ts-expect-error without a permit there is no result
  console.log(tried.result);
  // @ts-expect-error a limit is a number
  await semaphore.setLimit('3');
  // @ts-expect-error an id is wanted
  await semaphore.revoke(data);
  // @ts-expect-error it does not wait
  await semaphore.tryUse(({ slot }) => slot, { timeout: 5000 });
  // @ts-expect-error a mutex has no limit
  new redsem.Mutex(backend, 'mutex', { limit: 2 });
  // @ts-expect-error a limit is needed
  new redsem.Semaphore(backend, 'no limit', {});
  // @ts-expect-error a name is not a target
  new redsem.Semaphore('localhost', 'no client', options);
}
`;
