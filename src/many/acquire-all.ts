import { checkOptions, DEADLINE_OPTIONS } from '../arguments/known-options.js';
import { checkType } from '../arguments/validation.js';
import { runHolding, type Task } from '../core/use.js';
import { checkClock, checkFunction, checkPermits, resolveAcquire } from '../arguments/resolve.js';
import type { DeadlineOptions } from '../options.js';
import { Semaphore } from '../semaphore.js';
import { type Clock, systemClock } from '../time/clock.js';
import { CompositeHandle } from './composite-handle.js';
import { OrderedAcquisition, type Share } from './ordered-acquisition.js';

/** A semaphore to take permits of. */
export interface SemaphoreShare {
  /** On any backend. */
  readonly semaphore: Semaphore;
  /** How many to take, 1 to its limit, and 16 777 216 at most. Default 1. */
  readonly permits?: number | undefined;
}

/** The options of `acquireAll` and `useAll`. */
export interface AcquireAllOptions extends DeadlineOptions {
  /** For tests: the clock of the deadline. Default: the process's. */
  readonly clock?: Clock | undefined;
}

/**
 * Waits for permits of several semaphores, on any backends: all of them or none, within one
 * deadline. Callers that name the semaphores in different orders never deadlock. For a semaphore
 * that is given twice, redsem makes a single request for the permits of both. An empty list gives a
 * handle that holds nothing.
 * @param options milliseconds to wait at most for all together (default: no limit; 0: one try), or
 *   an object
 * @throws {RangeError} when the caller wants more permits of a semaphore than its limit in the
 *   backend, or when two semaphore objects have the same name
 * @throws {AcquireTimeoutError} when a permit did not come free in time; redsem gives back at once
 *   the permits that it took
 * @throws as `acquire` of the semaphores
 * @throws the signal's reason when it aborts
 */
export async function acquireAll(
  semaphores: readonly (Semaphore | SemaphoreShare)[],
  options?: number | AcquireAllOptions,
): Promise<CompositeHandle> {
  const given = sharesOf(semaphores);
  const { timeout, signal } = resolveAcquire(options, `${DEADLINE_OPTIONS} clock`);
  const { clock = systemClock } = typeof options === 'object' ? options : {};
  const acquisition = new OrderedAcquisition(given, { clock: checkClock(clock), timeout, signal });
  await acquisition.acquire();
  const name = [...new Set(given.map(({ semaphore }) => semaphore.name))].join(', ');
  return new CompositeHandle(name, given, acquisition.shares);
}

/**
 * Runs `fn` with permits of all semaphores, then releases the permits, also when `fn` throws.
 * Resolves or rejects as `fn` does. A failed release changes neither the result nor the error of
 * `fn`: it becomes the `cause` (or `suppressed`) of the error, or a `warning` of the semaphore if
 * `fn` gave a result.
 * @param options as `acquireAll`
 * @throws as `acquireAll`, and what `fn` throws
 */
export async function useAll<T>(
  semaphores: readonly (Semaphore | SemaphoreShare)[],
  fn: Task<CompositeHandle, T>,
  options?: number | AcquireAllOptions,
): Promise<T> {
  checkFunction('fn', fn);
  return runHolding(await acquireAll(semaphores, options), fn);
}

/** A share for each entry, the same share for the same semaphore. */
function sharesOf(semaphores: unknown): Share[] {
  checkType(Array.isArray(semaphores), 'semaphores', 'an array', semaphores);
  const shares = new Map<Semaphore, Share>();
  return semaphores.map((entry: unknown) => {
    const { semaphore, permits = 1 } = shareOf(entry);
    const share = shares.get(semaphore) ?? { semaphore, permits: 0 };
    share.permits = checkPermits(share.permits + checkPermits(permits));
    shares.set(semaphore, share);
    return share;
  });
}

function shareOf(entry: unknown): SemaphoreShare {
  if (entry instanceof Semaphore) return { semaphore: entry };
  const share: Partial<SemaphoreShare> = typeof entry === 'object' && entry !== null ? entry : {};
  const { semaphore, permits } = share;
  const expected = 'a Semaphore or { semaphore, permits } each';
  checkType(semaphore instanceof Semaphore, 'semaphores', expected, entry);
  checkOptions(share, 'semaphore permits', 'semaphores');
  return { semaphore, permits };
}
