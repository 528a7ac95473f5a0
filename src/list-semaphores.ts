import type { Backend, NamePage } from './backends/backend.js';
import { retryUntilDeadline } from './core/retry-until-deadline.js';
import { backendOf, type RedisTarget } from './clients.js';
import { BackendError } from './errors.js';
import type { SemaphoreOptions } from './options.js';
import { checkPrefix, resolveRetry } from './arguments/resolve.js';
import { systemClock } from './time/clock.js';
import { checkOptions } from './arguments/known-options.js';

/** The options of `listSemaphores`. */
export type ListOptions = Pick<SemaphoreOptions, 'prefix'>;

/** How long one page may take, in milliseconds. */
const callTimeoutMs = 5000;

/**
 * The names of all semaphores that were used within a day, each once, in no order. redsem reads
 * them by SCAN, page by page, while the caller iterates. SCAN blocks no other command, but a large
 * database takes long. The user needs the right `+scan` in addition to the rights for semaphores.
 * @param target as for a `Semaphore`; not several masters
 * @throws {TypeError | RangeError} at once, naming option, expectation and value
 * @throws {BackendError} while the caller iterates: when the backend fails, does not answer within
 *   5 s, or has no list of names
 */
export function listSemaphores(
  target: RedisTarget | Backend,
  options: ListOptions = {},
): AsyncGenerator<string, void, undefined> {
  checkOptions(options, 'prefix');
  return names(backendOf(target), checkPrefix(options.prefix));
}

async function* names(backend: Backend, prefix: string): AsyncGenerator<string, void, undefined> {
  const { clock = systemClock } = backend;
  const client = { isRetryable: (error: unknown) => backend.isRetryable?.(error) ?? true };
  const subject = { clock, options: { retry: resolveRetry() }, callTimeoutMs, client };
  const listNames = backend.listNames?.bind(backend);
  if (listNames === undefined) {
    throw new BackendError(
      'listing semaphores is not available: this backend cannot, nor can several independent masters',
    );
  }
  const known = new Set<string>();
  let page: NamePage = { names: [], cursor: '' };
  const list = () => listNames(prefix, page.cursor);
  do {
    page = await retryUntilDeadline(subject, 'listing semaphores', list);
    for (const name of page.names) {
      if (!known.has(name)) yield name;
      known.add(name);
    }
  } while (page.cursor !== '');
}
