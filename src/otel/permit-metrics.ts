import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import { withoutCredentials } from '../arguments/shown.js';
import type * as telemetry from '../telemetry-messages.js';
import * as attribute from './attributes.js';
import { type EndedAcquire, Subscriptions } from './subscriptions.js';

/**
 * Bounds of histograms in seconds: the bounds that the conventions name for the duration of a
 * request, and longer bounds for a wait.
 */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const USE_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400];

interface Held {
  readonly permits: number;
  readonly about: Attributes;
}

/**
 * Counts the events of semaphores. It ignores the end of a call or a hold that began before it
 * listened, so that no level goes below zero.
 */
export class PermitMetrics {
  readonly #instruments: ReturnType<typeof makeInstruments>;
  readonly #groupBy: (name: string) => string;
  readonly #subscriptions = new Subscriptions();
  /** Held permits by ticket id. */
  readonly #held = new Map<string, Held>();
  readonly #pending = new Map<telemetry.AcquireContext, Attributes>();

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
    const { waits, drops, reclaims, mismatches } = this.#instruments;
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
      reclaims.add(this.#forget(id), this.#about(name));
    });
    on.on('redsem:mismatch', ({ name }) => mismatches.add(1, this.#about(name)));
  }

  #onAcquire(context: telemetry.AcquireContext): void {
    const about = this.#about(context.name);
    this.#pending.set(context, about);
    this.#instruments.pending.add(1, about);
  }

  #onAcquireEnd(ended: EndedAcquire): void {
    const about = this.#settle(ended);
    if (about === undefined) return;
    if (ended.result === null) this.#instruments.refusals.add(1, about);
    if (ended.result !== undefined) return;
    this.#instruments.failures.add(1, {
      ...about,
      [attribute.ERROR_TYPE]: attribute.requestErrorType(ended.error),
    });
  }

  #onGrant({ name, id, slots, waited, attempts }: telemetry.GrantMessage): void {
    const about = this.#about(name);
    this.#held.set(id, { permits: slots.length, about });
    this.#instruments.held.add(slots.length, about);
    // No request waited for an adopted ticket.
    if (attempts > 0) this.#instruments.waitTime.record(attribute.seconds(waited), about);
  }

  #onExtend({ name, error }: telemetry.ExtendMessage): void {
    if (error === undefined) return;
    const failed = { ...this.#about(name), [attribute.ERROR_TYPE]: attribute.errorType(error) };
    this.#instruments.extensionFailures.add(1, failed);
  }

  #onLost({ name, id, reason, heldFor }: telemetry.LostMessage): void {
    const about = this.#about(name);
    this.#instruments.losses.add(1, { ...about, [attribute.LOST_REASON]: reason });
    this.#instruments.useTime.record(attribute.seconds(heldFor), about);
    const permits = this.#forget(id);
    if (reason !== 'closed') this.#instruments.reclaims.add(permits, about);
  }

  #onRelease(release: telemetry.ReleaseMessage): void {
    const { name, id, released, heldFor, lost, overrun, error } = release;
    const about = this.#about(name);
    if (lost === undefined) this.#instruments.useTime.record(attribute.seconds(heldFor), about);
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

  #settle(context: telemetry.AcquireContext): Attributes | undefined {
    const about = this.#pending.get(context);
    if (about === undefined) return undefined;
    this.#pending.delete(context);
    this.#instruments.pending.add(-1, about);
    return about;
  }

  #about(name: string): Attributes {
    return { [attribute.SEMAPHORE_NAME]: withoutCredentials(this.#groupBy(name)) };
  }
}

function makeInstruments(meter: Meter) {
  const count = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const level = (name: string, unit: string, description: string): UpDownCounter =>
    meter.createUpDownCounter(name, { unit, description });
  const time = (name: string, buckets: number[], description: string): Histogram =>
    meter.createHistogram(name, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: buckets },
    });
  return {
    held: level('redsem.permit.count', '{permit}', 'Permits that this process holds'),
    pending: level('redsem.permit.pending_requests', '{request}', 'Calls that ask or wait now'),
    waits: count('redsem.permit.waits', '{request}', 'Requests that found no permit free'),
    refusals: count('redsem.permit.refusals', '{request}', 'Tries that found no permit free'),
    failures: count('redsem.permit.failed_requests', '{request}', 'Requests that rejected'),
    waitTime: time('redsem.permit.wait_time', WAIT_BUCKETS, 'From the call to the grant'),
    useTime: time('redsem.permit.use_time', USE_BUCKETS, 'From the grant to release or loss'),
    overages: count(
      'redsem.permit.overages',
      '{ticket}',
      'Tickets held past their ttl, or after they were gone',
    ),
    reclaims: count(
      'redsem.permit.reclaims',
      '{permit}',
      'Permits of this process that went back without a release',
    ),
    losses: count('redsem.permit.losses', '{ticket}', 'Handles that were lost'),
    extensionFailures: count(
      'redsem.permit.extension_failures',
      '{extension}',
      'Extensions that failed; they are tried again inside the lease',
    ),
    drops: count('redsem.permit.drops', '{ticket}', 'Handles garbage collected without release'),
    mismatches: count('redsem.limit.mismatches', '{mismatch}', 'Other limits seen under a name'),
  };
}
