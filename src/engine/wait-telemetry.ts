import type { SemaphoreKey } from '../backends/backend.js';
import { telemetry } from '../telemetry.js';
import type { AcquireRequest } from './acquire-request.js';
import type { LeaseTicket } from './lease.js';

/** Call these only where the channel is active. */
export function publishWait({ name }: SemaphoreKey, { id, permits }: AcquireRequest): void {
  telemetry.wait.publish({ name, id, permits });
}

/** `now`: monotonic time. */
export function publishGrant(
  { name }: SemaphoreKey,
  { id, started, attempts }: AcquireRequest,
  { slots, fencingToken }: LeaseTicket,
  now: number,
): void {
  telemetry.grant.publish({ name, id, slots, fencingToken, waited: now - started, attempts });
}
