import type { Address } from '../topologies/connect.js';

/** The settings that a worker process gets at its start. */
export interface Workload {
  /** Its name in the history. */
  readonly process: string;
  /** Where the history is written. */
  readonly folder: string;
  readonly address: Address;
  readonly name: string;
  readonly limit: number;
  /** Milliseconds. */
  readonly ttl: number;
  /** How many callers acquire at the same time. */
  readonly callers: number;
  readonly seed: number;
  /** Whether a keeper renews its permits. */
  readonly keeper: boolean;
}
