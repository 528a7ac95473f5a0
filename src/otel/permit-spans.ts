import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { context, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { safeCause, withoutCredentials } from '../arguments/shown.js';
import { describe } from '../error-causes.js';
import type * as telemetry from '../telemetry-messages.js';
import * as attribute from './attributes.js';
import { type EndedAcquire, Subscriptions } from './subscriptions.js';

interface Acquiring {
  readonly span: Span;
  readonly parent: Context;
}

/**
 * Makes a span for each call of acquire, and a span for each hold, from the grant to release or
 * loss. Both are children of the caller's span at the call, because a grant arrives outside of the
 * caller's context.
 */
export class PermitSpans {
  readonly #tracer: Tracer;
  readonly #subscriptions = new Subscriptions();
  readonly #acquiring = new Map<telemetry.AcquireContext, Acquiring>();
  /** By ticket id: a grant of which the caller does not know yet. */
  readonly #granted = new Map<string, telemetry.GrantMessage>();
  /** By ticket id. */
  readonly #holds = new Map<string, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
    this.#listen();
  }

  /** Stops listening, and ends the open spans. */
  end(): void {
    this.#subscriptions.end();
    for (const { span } of this.#acquiring.values()) span.end();
    for (const span of this.#holds.values()) span.end();
    this.#acquiring.clear();
    this.#granted.clear();
    this.#holds.clear();
  }

  #listen(): void {
    const on = this.#subscriptions;
    on.on('tracing:redsem:acquire:start', (call) => this.#onAcquire(call));
    on.on('tracing:redsem:acquire:asyncStart', (ended) => this.#onAcquireEnd(ended));
    on.on('redsem:grant', (grant) => this.#onGrant(grant));
    on.on('redsem:extend', (extension) => this.#onExtend(extension));
    on.on('redsem:lost', (loss) => this.#onLost(loss));
    on.on('redsem:release', (release) => this.#onRelease(release));
    on.on('redsem:drop', ({ id }) => this.#endHold(id, 'dropped'));
  }

  #onAcquire(call: telemetry.AcquireContext): void {
    const { name, permits, timeout } = call;
    const parent = context.active();
    const attributes: Attributes = {
      [attribute.SEMAPHORE_NAME]: withoutCredentials(name),
      [attribute.PERMITS]: permits,
    };
    // A call without a limit has no such attribute, because exporters cannot write Infinity.
    if (Number.isFinite(timeout))
      attributes[attribute.TIMEOUT] = attribute.seconds(Number(timeout));
    const options = { kind: SpanKind.INTERNAL, attributes };
    const span = this.#tracer.startSpan('redsem acquire', options, parent);
    this.#acquiring.set(call, { span, parent });
  }

  #onAcquireEnd(ended: EndedAcquire): void {
    const acquiring = this.#acquiring.get(ended);
    if (acquiring === undefined) return;
    this.#acquiring.delete(ended);
    const { span, parent } = acquiring;
    const { result, error } = ended;
    const grant = result === undefined || result === null ? undefined : this.#take(result.id);
    if (result === undefined) fail(span, attribute.requestErrorType(error), error);
    if (grant !== undefined) {
      const { waited, attempts } = grant;
      span.setAttributes({
        [attribute.WAITED]: attribute.seconds(waited),
        [attribute.ATTEMPTS]: attempts,
      });
      this.#startHold(grant, parent, span);
    }
    span.end();
  }

  #onGrant(grant: telemetry.GrantMessage): void {
    // No call acquired an adopted permit.
    if (grant.attempts === 0) this.#startHold(grant, context.active());
    else this.#granted.set(grant.id, grant);
  }

  #onExtend({ id, error }: telemetry.ExtendMessage): void {
    if (error === undefined) return;
    const attributes = {
      'exception.type': attribute.errorType(error),
      'exception.message': describe(error),
    };
    this.#holds.get(id)?.addEvent('redsem extension failed', attributes);
  }

  #onLost({ id, reason }: telemetry.LostMessage): void {
    this.#holds.get(id)?.setAttribute(attribute.LOST_REASON, reason);
    this.#endHold(id, reason === 'closed' ? undefined : reason);
  }

  #onRelease({ id, released, error }: telemetry.ReleaseMessage): void {
    if (released) this.#endHold(id, undefined);
    else if (error === undefined) this.#endHold(id, 'expired');
    else this.#endHold(id, attribute.errorType(error), error);
  }

  #take(id: string): telemetry.GrantMessage | undefined {
    const grant = this.#granted.get(id);
    this.#granted.delete(id);
    return grant;
  }

  #startHold(grant: telemetry.GrantMessage, parent: Context, acquired?: Span): void {
    const { name, id, slots, fencingToken } = grant;
    const attributes = {
      [attribute.SEMAPHORE_NAME]: withoutCredentials(name),
      [attribute.TICKET_ID]: id,
      [attribute.PERMITS]: slots.length,
      [attribute.SLOTS]: [...slots],
      [attribute.FENCING_TOKEN]: fencingToken,
    };
    const links = acquired === undefined ? [] : [{ context: acquired.spanContext() }];
    const options = { kind: SpanKind.INTERNAL, attributes, links };
    this.#holds.set(id, this.#tracer.startSpan('redsem hold', options, parent));
  }

  #endHold(id: string, problem: string | undefined, error?: unknown): void {
    // A hold is still there if its call began before the listening did, or if the call failed
    // although the permit was granted.
    this.#granted.delete(id);
    const span = this.#holds.get(id);
    if (span === undefined) return;
    this.#holds.delete(id);
    if (problem !== undefined) fail(span, problem, error);
    span.end();
  }
}

function fail(span: Span, type: string, error: unknown): void {
  span.setAttribute(attribute.ERROR_TYPE, type);
  if (error === undefined) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: type });
    return;
  }
  span.setStatus({ code: SpanStatusCode.ERROR, message: describe(error) });
  const safe = safeCause(error);
  if (safe instanceof Error) span.recordException(safe);
}
