import type { Lease } from './lease.js';

export type RequestState =
  /** Its next call is gathering or under way. */
  | 'sent'
  /** The backend has it in its queue, or its last call failed: asked again with the next try. */
  | 'waiting'
  /** It became a lease, or was refused. */
  | 'settled'
  /** Timed out, aborted, failed or closed: whatever the backend holds for it is withdrawn. */
  | 'abandoned';

/** One call of `acquire` or `tryAcquire` on its way to a permit. */
export class PermitRequest {
  readonly id: string;
  readonly permits: number;
  /** False: one try, no queueing. */
  readonly wait: boolean;
  /** Monotonic time after which nobody wants it. */
  readonly deadline: number;
  state: RequestState = 'sent';
  arrival: number | undefined;
  attempts = 0;
  lastError: unknown = undefined;
  /** The lease it became: a call that ran twice grants it twice. */
  lease: Lease | undefined;
  readonly #resolve: (lease: Lease | undefined) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    ask: { id: string; permits: number; wait: boolean; deadline: number },
    resolve: (lease: Lease | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.id = ask.id;
    this.permits = ask.permits;
    this.wait = ask.wait;
    this.deadline = ask.deadline;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get pending(): boolean {
    return this.state === 'sent' || this.state === 'waiting';
  }

  grant(lease: Lease): void {
    this.state = 'settled';
    this.lease = lease;
    this.#resolve(lease);
  }

  refuse(): void {
    this.state = 'settled';
    this.#resolve(undefined);
  }

  abandon(error: unknown): void {
    this.state = 'abandoned';
    this.#reject(error);
  }
}
