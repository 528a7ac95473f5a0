import { safeCause } from '../arguments/safe-cause.js';
import type { LostReason } from '../errors.js';
import type { Lease } from './lease.js';
import { telemetry } from '../telemetry.js';

/** Call these only where the channel is active. `waited` in milliseconds. */
export function publishGrant(lease: Lease, waited: number, attempts: number): void {
  const { name, id, slots, fencingToken } = lease;
  telemetry.grant.publish({ name, id, slots, fencingToken, waited, attempts });
}

/** `now`: monotonic time. */
export function publishLost(lease: Lease, reason: LostReason, now: number): void {
  const { name, id, heldSince } = lease;
  telemetry.lost.publish({ name, id, reason, heldFor: now - heldSince });
}

export function publishExtend({ name, id }: Lease, error: unknown): void {
  telemetry.extend.publish({ name, id, error: safeCause(error) });
}

export function publishRelease(lease: Lease, outcome: Promise<boolean>, now: number): void {
  const { name, id, heldSince, overrun, state } = lease;
  const lost = state.kind === 'lost' ? state.error.reason : undefined;
  const about = { name, id, heldFor: now - heldSince, lost, overrun };
  outcome.then(
    (released) => telemetry.release.publish({ ...about, released, error: undefined }),
    (error: unknown) => telemetry.release.publish({ ...about, released: false, error }),
  );
}
