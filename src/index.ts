export type { AcquireAllOptions, SemaphoreShare } from './many/acquire-all.js';
export { acquireAll, useAll } from './many/acquire-all.js';
export type { BackoffOptions } from './time/backoff.js';
export type {
  Backend,
  HolderState,
  QueueProgress,
  RateState,
  WaiterState,
} from './backends/backend.js';
export type { ListOptions } from './list-semaphores.js';
export { listSemaphores } from './list-semaphores.js';
export type { Clock, Timer } from './time/clock.js';
export { systemClock } from './time/clock.js';
export type { HandleEvents, HandleEvents as CompositeHandleEvents } from './loss-emitter.js';
export { CompositeHandle } from './many/composite-handle.js';
export type {
  AcquireTimeoutDetails,
  LostReason,
  QueueFullDetails,
  RedsemErrorCode,
} from './errors.js';
export {
  AcquireTimeoutError,
  BackendError,
  ClosedError,
  HandleLostError,
  isRedsemError,
  QueueFullError,
  QuorumError,
  RedsemError,
} from './errors.js';
export type { ElectionEvents, ElectionOptions, ElectionWarning } from './many/election.js';
export { Election } from './many/election.js';
export type { HandleData } from './handle.js';
export { Handle } from './handle.js';
export { KeyedHandle } from './many/keyed-handle.js';
export type {
  KeyedAcquireOptions,
  KeyedMutexEvents,
  KeyedMutexOptions,
  KeyedMutexWarning,
  Keys,
} from './many/keyed-mutex.js';
export { KeyedMutex } from './many/keyed-mutex.js';
export type {
  KeyedSemaphoreEvents,
  KeyedSemaphoreOptions,
  KeyedSemaphoreWarning,
} from './many/keyed-semaphore.js';
export { KeyedSemaphore } from './many/keyed-semaphore.js';
export { ManualClock } from './time/manual-clock.js';
export type { MemoryBackendOptions } from './backends/memory/memory-backend.js';
export { MemoryBackend } from './backends/memory/memory-backend.js';
export type { MutexOptions, SemaphoreTarget } from './mutex.js';
export { Mutex } from './mutex.js';
export type { ReadWriteAcquireOptions, ReadWriteLockOptions } from './many/read-write-lock.js';
export { ReadWriteLock } from './many/read-write-lock.js';
export type {
  AcquireOptions,
  CloseOptions,
  DeadlineOptions,
  RateOptions,
  ReplicaOptions,
  SemaphoreOptions,
  WaitOptions,
} from './options.js';
export type {
  RedisConnection,
  Subscription,
  SubscriptionEvents,
} from './backends/redis/connection.js';
export type {
  SemaphoreEvents,
  SemaphoreState,
  SemaphoreWarning,
  TryUseRan,
  TryUseResult,
  TryUseSkipped,
} from './semaphore-types.js';
export { Semaphore } from './semaphore.js';
export type { QuorumOptions, RedisTarget, SingleTarget } from './clients.js';
export { quorum } from './clients.js';
export type {
  AcquireContext,
  DropMessage,
  ExtendMessage,
  GrantMessage,
  LostMessage,
  MismatchMessage,
  QueueMessage,
  ReleaseMessage,
  WaitMessage,
} from './telemetry.js';
export type { ErrorSubject } from './error-causes.js';
