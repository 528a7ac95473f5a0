import type { ExtendReply } from '../backends/backend.js';
import { UnfitServerError } from '../backends/backend.js';
import { CLAIM_TIME_MS } from '../backends/protocol.js';
import type { BackoffOptions } from '../calling/backoff.js';
import { backoffDelay } from '../calling/backoff.js';
import type { Clock, Instant } from '../time/clock.js';
import { instant, randomBy } from '../time/clock.js';
import type { LostReason } from '../errors.js';
import { BackendError } from '../errors.js';
import { GroupCommit } from '../calling/lane.js';
import type { Heartbeat } from './heartbeat.js';
import type { Lease } from './lease.js';
import { publishExtend } from './lease-telemetry.js';
import { telemetry } from '../telemetry.js';
import { callTimeout, callWithTimeout } from '../calling/call-timeout.js';

export interface LeaseRenewerOptions {
  readonly clock: Clock;
  readonly retry: BackoffOptions;
  readonly ttl: number;
  readonly heartbeat: Heartbeat;
  call(leases: readonly Lease[]): Promise<ExtendReply>;
  isRetryable(error: unknown): boolean;
  withdraw(id: string): void;
}

interface Awaited {
  /** How many calls were sent before. */
  readonly asked: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Extensions of the held tickets of one semaphore, and the callers that wait for them. */
export class LeaseRenewer {
  readonly #options: LeaseRenewerOptions;
  readonly #lane = new GroupCommit<Lease>((batch, done) => this.#send(batch, done));
  /** Callers of `extend` by the lease that they wait for. */
  readonly #awaited = new Map<Lease, Awaited[]>();
  /** Those of which a message says that their ticket is gone, until the extension is sent that shows it. */
  readonly #doubted = new Set<Lease>();
  #calls = 0;

  constructor(options: LeaseRenewerOptions) {
    this.#options = options;
  }

  /** Settles with the first extension that is sent from now on and confirmed, or when the lease ends. */
  extend(lease: Lease): Promise<void> {
    return new Promise((resolve, reject) => {
      const others = this.#awaited.get(lease) ?? [];
      this.#awaited.set(lease, [...others, { asked: this.#calls, resolve, reject }]);
      this.add(lease);
    });
  }

  /** A message says that its ticket is gone. Anybody may have sent it: an extension shows whether that is true. */
  doubt(lease: Lease): void {
    if (this.#doubted.has(lease)) return;
    this.#doubted.add(lease);
    this.add(lease);
  }

  onLeaseEnd(lease: Lease): void {
    if (this.#awaited.has(lease)) this.#settle(lease, lease.lossError());
  }

  add(lease: Lease): void {
    lease.extending = true;
    this.#lane.add(lease);
  }

  #send(batch: Lease[], done: () => void): void {
    const { clock, ttl } = this.#options;
    const doubted = batch.filter((lease) => this.#doubted.delete(lease));
    const leases = batch.filter(({ state }) => state.kind === 'held');
    if (leases.length === 0) return done();
    const sent = instant(clock);
    this.#calls += 1;
    const number = this.#calls;
    // Short enough for several tries within a lease, or within the claim time.
    const unclaimed = leases.some(({ claimed }) => !claimed);
    const limit = Math.min(callTimeout(ttl), ttl / 6, unclaimed ? CLAIM_TIME_MS / 4 : Infinity);
    callWithTimeout(clock, limit, this.#options.call(leases), {
      onReply: ({ extended, revoked }) => {
        const gone = new Set(revoked);
        leases.forEach((lease, i) => {
          const reason = gone.has(lease.id) ? 'revoked' : 'missing';
          this.#onExtended(lease, extended[i] === true ? undefined : reason, sent, number);
        });
        // Under its id there may be another ticket by now, which nobody wants.
        for (const { id, state } of doubted) {
          if (state.kind === 'lost' && state.error.reason === 'missing') this.#options.withdraw(id);
        }
      },
      onError: (error) => this.#onError(leases, error),
      onEnd: done,
    });
  }

  #onExtended(lease: Lease, gone: LostReason | undefined, sent: Instant, number: number): void {
    lease.extending = false;
    if (gone !== undefined) {
      lease.lose(gone);
    } else if (lease.state.kind === 'lost') {
      // It was extended after its holder had given up: nobody holds this ticket any more.
      this.#options.withdraw(lease.id);
    } else if (lease.state.kind === 'held') {
      lease.confirm(sent);
      if (telemetry.extend.active) publishExtend(lease, undefined);
      if (lease.remaining <= 0) return lease.lose('expired');
      this.#options.heartbeat.confirmed(lease, sent.monotonic);
      this.#settle(lease, undefined, number);
    }
  }

  #onError(leases: readonly Lease[], error: unknown): void {
    const retryable = this.#options.isRetryable(error);
    for (const lease of leases) {
      lease.extending = false;
      if (telemetry.extend.active) publishExtend(lease, error);
      const pause = backoffDelay(
        this.#options.retry,
        lease.failures,
        randomBy(this.#options.clock),
      );
      this.#options.heartbeat.failed(lease, error, pause);
      if (retryable) continue;
      const failure = new BackendError('extending failed', error);
      this.#settle(lease, failure);
      // At once, and not at the end of its lease: its holder has that long to stop.
      if (error instanceof UnfitServerError) lease.lose('expired', failure);
    }
  }

  /** `number`: that of the call that settles them; whoever asked after it was sent waits for the next one. */
  #settle(lease: Lease, error?: Error, number = Infinity): void {
    const awaited = this.#awaited.get(lease);
    if (awaited === undefined) return;
    const later = awaited.filter(({ asked }) => asked >= number);
    if (later.length > 0) this.#awaited.set(lease, later);
    else this.#awaited.delete(lease);
    for (const { asked, resolve, reject } of awaited) {
      if (asked >= number) continue;
      if (error === undefined) resolve();
      else reject(error);
    }
  }
}
