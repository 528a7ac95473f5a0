import type { Backend } from '../backends/backend.js';
import type { ResolvedOptions, ResolvedRequest } from './resolve.js';
import { checkType, rangeError, typeError } from './validation.js';

// Refuses at once an option that the target cannot support, and not only when the option is needed.

/**
 * The backend for the options of a semaphore.
 * @throws {TypeError} where the target cannot do what they ask for
 */
export function backendFor(target: Backend, options: ResolvedOptions): Backend {
  const { maxWaiting, replicas } = options;
  refuseWithoutQueue(target, { maxWaiting });
  for (const option of ['rate', 'budgets', 'groupLimit'] as const) {
    if (options[option] !== undefined) checkRateTarget(target, option);
  }
  const backend = replicas === undefined ? target : target.withReplicas?.(replicas);
  if (backend !== undefined) return backend;
  throw typeError(
    'replicas: expected none, or a client of one Redis server or of a sentinel through ioredis as target, got another target',
  );
}

/** @throws {TypeError} where there is no queue in which a rate could be kept */
export function checkRateTarget(backend: Backend, option: 'rate' | 'budgets' | 'groupLimit'): void {
  const method = option === 'groupLimit' ? 'setGroupLimit' : 'setRate';
  if (backend[method] !== undefined) return;
  throw typeError(
    `${option}: expected none on several masters, because a quorum has no queue, nor on a backend without ${method}, got one`,
  );
}

/** The permits that a request asks for, and its options of a queue. */
export function checkRequest(backend: Backend, request: ResolvedRequest): void {
  const { permits, order, onWaiting, cost } = request;
  const { mostPermits = Infinity } = backend;
  if (permits > mostPermits) {
    throw rangeError(`permits: expected at most ${mostPermits} on several masters, got ${permits}`);
  }
  if (backend.hasNoQueue !== true) return;
  const group = order?.group === '' ? undefined : order?.group;
  refuseWithoutQueue(backend, { group, priority: order?.priority, onWaiting, cost });
}

/** The options that need a queue; undefined: not given. */
export function refuseWithoutQueue(backend: Backend, options: Record<string, unknown>): void {
  if (backend.hasNoQueue !== true) return;
  for (const [option, value] of Object.entries(options)) {
    checkType(value === undefined, option, 'none, because a quorum has no queue', value);
  }
}
