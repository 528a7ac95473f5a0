import { typeError } from './arguments/validation.js';
import type { Backend } from './backends/backend.js';
import type { ResolvedOptions } from './options.js';

/** @throws {TypeError} where there is no queue in which a rate could be kept */
export function checkRateTarget(backend: Backend): void {
  if (backend.setRate !== undefined) return;
  throw typeError(
    'rate: expected none on several masters, because a quorum has no queue, nor on a backend without setRate, got one',
  );
}

/** @throws {TypeError} where replicas are wanted and the backend has none */
export function withReplicas(backend: Backend, { replicas }: ResolvedOptions): Backend {
  if (replicas === undefined) return backend;
  const wrapped = backend.withReplicas?.(replicas);
  if (wrapped !== undefined) return wrapped;
  throw typeError(
    'replicas: expected none, or a client of one Redis server or of a sentinel through ioredis as target, got another target',
  );
}
