import type { AcquireOptions, Handle, HandleLostError } from '../../src/index.js';
import { type ManualClock, Semaphore, type SemaphoreOptions } from '../../src/index.js';
import { StubBackend, watch, type Watched } from './stub-backend.js';

export const PLAIN = { min: 10, max: 200, factor: 2, jitter: false };

export function pushing(): StubBackend {
  return new StubBackend({ pushes: true });
}

/** A stub that grants every request. */
export function granting(): StubBackend {
  const backend = new StubBackend();
  backend.onAcquire = (call) => backend.allGranted(call);
  return backend;
}

/** A semaphore on a stub that queues every request. */
export function stubFixture(
  options: Partial<SemaphoreOptions> = {},
  backend: StubBackend = new StubBackend(),
) {
  const { clock } = backend;
  const semaphore = new Semaphore(backend, 'jobs', { limit: 10_000, retry: PLAIN, ...options });
  const acquire = (given?: number | AcquireOptions): Watched<Handle> =>
    watch(clock, semaphore.acquire(given));
  /** A request whose first call is answered. */
  const asked = async (given?: number | AcquireOptions): Promise<Watched<Handle>> => {
    const waiting = acquire(given);
    await clock.advance(0);
    return waiting;
  };
  return { backend, clock, semaphore, acquire, asked };
}

/** Such a semaphore, and a permit that it holds. */
export async function heldFixture(
  options: Partial<SemaphoreOptions> = {},
  stub: StubBackend = new StubBackend(),
) {
  const fixture = stubFixture({ ttl: 3000, ...options }, stub);
  const { backend, clock, semaphore } = fixture;
  backend.onAcquire = (call) => backend.allGranted(call);
  const handle = await semaphore.acquire();
  kept.push(handle);
  return { ...fixture, handle, losses: lossesOf(handle, clock) };
}

/** Such a semaphore with a subscription that works, and a request that waits. */
export async function listeningFixture(options: Partial<SemaphoreOptions> = {}) {
  const fixture = stubFixture(options, pushing());
  const { backend, asked } = fixture;
  const waiting = await asked();
  await backend.setHealth(true);
  return { ...fixture, waiting, id: backend.ids[0] ?? '' };
}

/** Handles that are garbage collected give a warning. */
const kept: Handle[] = [];

/** The times and errors of the losses of a handle. */
export function lossesOf(handle: Handle, clock: ManualClock): [number, HandleLostError][] {
  const losses: [number, HandleLostError][] = [];
  handle.on('lost', (error) => losses.push([clock.monotonic(), error]));
  return losses;
}

export function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, i) => time - (times[i] ?? NaN));
}

/** A promise that the test settles. */
export function later<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
