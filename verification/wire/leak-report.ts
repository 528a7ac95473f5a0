import type { ClientKind } from '../../test/support/open-client.js';

export interface LeakArguments {
  readonly kind: ClientKind;
  readonly url: string;
  readonly name: string;
  /** How often to acquire and release. */
  readonly cycles: number;
  /** How many acquires to let time out, and how many to abort. */
  readonly refusals: number;
}

export interface Leftovers {
  /** Resources and listeners of the process, counted by kind. */
  readonly before: Record<string, number>;
  readonly after: Record<string, number>;
  /** Timers that the semaphore had set when it was closed. */
  readonly timers: number;
  readonly handles: number;
  readonly alive: number;
}
