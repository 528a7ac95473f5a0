export type { BackoffOptions } from './backoff.js';
export type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  Backend,
  Call,
  ExtendCall,
  ExtendReply,
  GrantListener,
  HolderState,
  InspectCall,
  InspectReply,
  Listening,
  PushedGrant,
  ReleaseCall,
  ReleaseReply,
  Reply,
  SemaphoreKey,
  TicketRequest,
  WaiterState,
} from './backend.js';
export type { Clock, Timer } from './clock.js';
export { systemClock } from './clock.js';
export type { AcquireTimeoutDetails, LostReason, RedsemErrorCode } from './errors.js';
export {
  AcquireTimeoutError,
  BackendError,
  ClosedError,
  HandleLostError,
  isRedsemError,
  RedsemError,
} from './errors.js';
export type { HandleData, HandleEvents } from './handle.js';
export { Handle } from './handle.js';
export { ManualClock } from './manual-clock.js';
export type { MemoryBackendOptions } from './memory/memory-backend.js';
export { MemoryBackend } from './memory/memory-backend.js';
export type { AcquireOptions, SemaphoreOptions } from './options.js';
export type { RedisConnection, Subscription, SubscriptionEvents } from './redis/connection.js';
export type { SemaphoreEvents, SemaphoreState, SemaphoreWarning } from './semaphore.js';
export { Semaphore } from './semaphore.js';
export type { RedisTarget } from './targets.js';
