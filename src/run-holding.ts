import type { Releasable } from './core/use.js';
import { runAndRelease } from './core/use.js';
import type { Handle } from './handle.js';

/** One permit, or several as one. */
interface Holding extends Releasable {
  /** From now on it notes whether its holder looks. */
  forgetLooks(): void;
  /** Its permits at which nobody has looked since. */
  readonly unlooked: readonly Handle[];
}

/**
 * As `runAndRelease`. Where `fn` ends well without a look at a permit that was lost meanwhile, its
 * semaphore emits a `warning`: nothing else shows it.
 */
export async function runHolding<H extends Holding, T>(
  handle: H,
  fn: (handle: H) => T | Promise<T>,
): Promise<T> {
  let unlooked: readonly Handle[] = [];
  handle.forgetLooks();
  const result = await runAndRelease(handle, async () => {
    const given = await fn(handle);
    ({ unlooked } = handle);
    return given;
  });
  for (const each of unlooked) await each.reportLoss();
  return result;
}
