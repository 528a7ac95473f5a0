import type { Backend } from '../../src/index.js';
import { backendOf } from '../../src/targets.js';
import type { Target } from './row.js';

/** The same tickets as another process sees them: another backend object has a client id, queues and an inbox of its own. */
export function asAnotherProcess(target: Target): Backend {
  const backend = backendOf(target);
  const { clock } = backend;
  const noteStripes = backend.noteStripes?.bind(backend);
  const listen = backend.listen?.bind(backend);
  return {
    ...(clock === undefined ? {} : { clock }),
    ...(listen === undefined ? {} : { listen }),
    ...(noteStripes === undefined ? {} : { noteStripes }),
    acquire: (call) => backend.acquire(call),
    extend: (call) => backend.extend(call),
    release: (call) => backend.release(call),
    inspect: (call) => backend.inspect(call),
    isRetryable: (error) => backend.isRetryable?.(error) ?? true,
  };
}
