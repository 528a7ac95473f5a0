import type { Attributes, Meter } from '@opentelemetry/api';
import { withoutCredentials } from '../arguments/shown.js';
import type {
  AcquireContext,
  ExtendMessage,
  GrantMessage,
  LostMessage,
  ReleaseMessage,
} from '../telemetry-messages.js';
import {
  ERROR_TYPE,
  errorType,
  LOST_REASON,
  requestErrorType,
  seconds,
  SEMAPHORE_NAME,
} from './attributes.js';
import { type Instruments, makeInstruments } from './instruments.js';
import { type EndedAcquire, Subscriptions } from './subscriptions.js';

interface Held {
  readonly permits: number;
  readonly about: Attributes;
}

/**
 * Counts the events of semaphores. It ignores the end of a call or a hold that began before it
 * listened, so that no level goes below zero.
 */
export class PermitMetrics {
  readonly #instruments: Instruments;
  readonly #groupBy: (name: string) => string;
  readonly #subscriptions = new Subscriptions();
  /** Held permits by ticket id. */
  readonly #held = new Map<string, Held>();
  readonly #pending = new Map<AcquireContext, Attributes>();

  constructor(meter: Meter, groupBy: (name: string) => string) {
    this.#instruments = makeInstruments(meter);
    this.#groupBy = groupBy;
    this.#listen();
  }

  /** Stops listening. Held permits and pending requests leave the levels. */
  end(): void {
    this.#subscriptions.end();
    for (const id of this.#held.keys()) this.#forget(id);
    for (const context of this.#pending.keys()) this.#settle(context);
  }

  #listen(): void {
    const { waits, drops, mismatches } = this.#instruments;
    const on = this.#subscriptions;
    on.on('tracing:redsem:acquire:start', (context) => this.#onAcquire(context));
    on.on('tracing:redsem:acquire:asyncStart', (ended) => this.#onAcquireEnd(ended));
    on.on('redsem:wait', ({ name }) => waits.add(1, this.#about(name)));
    on.on('redsem:grant', (grant) => this.#onGrant(grant));
    on.on('redsem:extend', (extension) => this.#onExtend(extension));
    on.on('redsem:lost', (loss) => this.#onLost(loss));
    on.on('redsem:release', (release) => this.#onRelease(release));
    on.on('redsem:drop', ({ name, id }) => {
      drops.add(1, this.#about(name));
      this.#forget(id);
    });
    on.on('redsem:mismatch', ({ name }) => mismatches.add(1, this.#about(name)));
  }

  #onAcquire(context: AcquireContext): void {
    const about = this.#about(context.name);
    this.#pending.set(context, about);
    this.#instruments.pending.add(1, about);
  }

  #onAcquireEnd(ended: EndedAcquire): void {
    const about = this.#settle(ended);
    if (about === undefined) return;
    if (ended.result === null) this.#instruments.refusals.add(1, about);
    if (ended.result !== undefined) return;
    this.#instruments.failures.add(1, { ...about, [ERROR_TYPE]: requestErrorType(ended.error) });
  }

  #onGrant({ name, id, slots, waited, attempts }: GrantMessage): void {
    const about = this.#about(name);
    this.#held.set(id, { permits: slots.length, about });
    this.#instruments.held.add(slots.length, about);
    // No request waited for an adopted ticket.
    if (attempts > 0) this.#instruments.waitTime.record(seconds(waited), about);
  }

  #onExtend({ name, error }: ExtendMessage): void {
    if (error === undefined) return;
    const failed = { ...this.#about(name), [ERROR_TYPE]: errorType(error) };
    this.#instruments.extensionFailures.add(1, failed);
  }

  #onLost({ name, id, reason, heldFor }: LostMessage): void {
    const about = this.#about(name);
    this.#instruments.losses.add(1, { ...about, [LOST_REASON]: reason });
    this.#instruments.useTime.record(seconds(heldFor), about);
    const permits = this.#forget(id);
    if (reason !== 'closed') this.#instruments.reclaims.add(permits, about);
  }

  #onRelease(release: ReleaseMessage): void {
    const { name, id, released, heldFor, lost, overrun, error } = release;
    const about = this.#about(name);
    if (lost === undefined) this.#instruments.useTime.record(seconds(heldFor), about);
    const permits = this.#forget(id);
    if (released || lost === 'closed') return;
    // A holder that stopped as soon as it was notified is no overage: its lease has a margin for
    // that.
    const unnoticed = lost === undefined && error === undefined;
    if (unnoticed || overrun > 0) this.#instruments.overages.add(1, about);
    // Zero if the loss was reported before: then these permits are counted already.
    this.#instruments.reclaims.add(permits, about);
  }

  /** Takes a ticket off the level. Returns the number of its permits; 0 for an unknown ticket. */
  #forget(id: string): number {
    const held = this.#held.get(id);
    if (held === undefined) return 0;
    this.#held.delete(id);
    this.#instruments.held.add(-held.permits, held.about);
    return held.permits;
  }

  #settle(context: AcquireContext): Attributes | undefined {
    const about = this.#pending.get(context);
    if (about === undefined) return undefined;
    this.#pending.delete(context);
    this.#instruments.pending.add(-1, about);
    return about;
  }

  #about(name: string): Attributes {
    return { [SEMAPHORE_NAME]: withoutCredentials(this.#groupBy(name)) };
  }
}
