import { checkOptions, DEADLINE_OPTIONS, type OptionNames } from '../arguments/known-options.js';
import { formatValue } from '../arguments/shown.js';
import { typeError } from '../arguments/validation.js';
import { runHolding } from '../core/use.js';
import { checkClock, checkFunction, checkPermits } from '../options.js';
import { type DeadlineOptions, resolveAcquire } from '../options.js';
import { Semaphore } from '../semaphore.js';
import { type Clock, systemClock } from '../time/clock.js';
import { CompositeHandle } from './composite-handle.js';
import { OrderedAcquisition, type Part } from './ordered-acquisition.js';

const OPTIONS: OptionNames = new Set([...DEADLINE_OPTIONS, 'clock']);
const SHARE: OptionNames = new Set(['semaphore', 'permits']);

/** A semaphore to take permits of. */
export interface SemaphoreShare {
  /** On any backend. */
  readonly semaphore: Semaphore;
  /** How many to take, 1 to its limit, and 16 777 216 at most. Default 1. */
  readonly permits?: number | undefined;
}

/** The options of `acquireAll` and `useAll`. */
export interface AcquireAllOptions extends DeadlineOptions {
  /** For tests: what the deadline is counted by. Default: the process's. */
  readonly clock?: Clock | undefined;
}

/**
 * Waits for permits of several semaphores, on any backends: all of them or none, within one
 * deadline. Callers that name them in different orders never deadlock. A semaphore that is given
 * twice is asked once, for the permits of both. An empty list gives a handle that holds nothing.
 * @param options milliseconds to wait at most for all together (default: no limit; 0: one try), or
 *   an object
 * @throws {RangeError} when more permits are wanted of a semaphore than its limit, as its backend
 *   has it, or when two semaphore objects have one name
 * @throws {AcquireTimeoutError} when one did not come free in time; what was taken is given back at
 *   once
 * @throws whatever the semaphores' `acquire` throws
 * @throws the signal's own reason when it aborts
 */
export async function acquireAll(
  semaphores: readonly (Semaphore | SemaphoreShare)[],
  options?: number | AcquireAllOptions,
): Promise<CompositeHandle> {
  const given = partsOf(semaphores);
  const { timeout, signal } = resolveAcquire(options, OPTIONS);
  const clock = checkClock(
    (typeof options === 'object' ? options.clock : undefined) ?? systemClock,
  );
  const acquisition = new OrderedAcquisition(given, { clock, timeout, signal });
  await acquisition.acquire();
  const name = [...new Set(given.map(({ semaphore }) => semaphore.name))].join(', ');
  return new CompositeHandle(name, given, acquisition.parts);
}

/**
 * Runs `fn` with permits of all semaphores held and releases them whatever happens. Resolves or
 * rejects as `fn` does: a release that fails beside an error of `fn` is that error's `cause` (or
 * `suppressed`), beside a result a `warning` of the semaphore, and changes neither.
 * @param options as `acquireAll`
 * @throws as `acquireAll`, and what `fn` throws
 */
export async function useAll<T>(
  semaphores: readonly (Semaphore | SemaphoreShare)[],
  fn: (handle: CompositeHandle) => T | Promise<T>,
  options?: number | AcquireAllOptions,
): Promise<T> {
  checkFunction('fn', fn);
  return runHolding(await acquireAll(semaphores, options), fn);
}

/** One part for each that was given, the same for the same semaphore. */
function partsOf(semaphores: unknown): Part[] {
  if (!Array.isArray(semaphores)) {
    throw typeError(`semaphores: expected an array, got ${formatValue(semaphores)}`);
  }
  const parts = new Map<Semaphore, Part>();
  return semaphores.map((entry: unknown) => {
    const { semaphore, permits } = shareOf(entry);
    const part = parts.get(semaphore) ?? { semaphore, permits: 0 };
    part.permits = checkPermits(part.permits + checkPermits(permits));
    parts.set(semaphore, part);
    return part;
  });
}

function shareOf(entry: unknown): Part {
  if (entry instanceof Semaphore) return { semaphore: entry, permits: 1 };
  const share: Partial<SemaphoreShare> = typeof entry === 'object' && entry !== null ? entry : {};
  const { semaphore, permits = 1 } = share;
  if (!(semaphore instanceof Semaphore)) {
    throw typeError(
      `semaphores: expected a Semaphore or { semaphore, permits } each, got ${formatValue(entry)}`,
    );
  }
  checkOptions(share, SHARE, 'semaphores');
  return { semaphore, permits };
}
