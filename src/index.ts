// `export *` is only for files whose exports are all public API.
export type {
  Backend,
  BudgetState,
  HolderState,
  QueueProgress,
  RateState,
  WaiterState,
} from './backends/backend.js';
export * from './backends/memory/memory-backend.js';
export type * from './backends/redis/connection.js';
export { quorum, type QuorumOptions, type RedisTarget, type SingleTarget } from './clients.js';
export type { ErrorSubject } from './error-causes.js';
export * from './errors.js';
export type { HandleEvents, HandleEvents as CompositeHandleEvents } from './events.js';
export { Handle, type HandleData, type HandleLike, type ReleaseOptions } from './handle.js';
export * from './list-semaphores.js';
export * from './many/acquire-all.js';
export * from './many/composite-handle.js';
export * from './many/election.js';
export * from './many/keyed-mutex.js';
export * from './many/keyed-semaphore.js';
export * from './many/read-write-lock.js';
export { Mutex, type MutexOptions, type SemaphoreTarget } from './mutex.js';
export type * from './options.js';
export * from './semaphore.js';
export type * from './telemetry-messages.js';
export type { BackoffOptions } from './time/backoff.js';
export { type Clock, systemClock, type Timer } from './time/clock.js';
export * from './time/manual-clock.js';
