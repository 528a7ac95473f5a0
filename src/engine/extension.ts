import type { ExtendItem } from '../calling/extend-lane.js';
import type { Lease } from './lease.js';

/** One extension of a lease, on its way. */
export class Extension implements ExtendItem {
  readonly lease: Lease;
  /** Counts those of its lease. */
  readonly number: number;
  sent = false;
  cancelled = false;
  repeated = false;

  constructor(lease: Lease, number: number) {
    this.lease = lease;
    this.number = number;
  }

  get id(): string {
    return this.lease.id;
  }

  get fencingToken(): number {
    return this.lease.fencingToken;
  }
}
