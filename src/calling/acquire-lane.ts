import type {
  AcquireCall,
  AcquireReply,
  AcquireVerdict,
  Backend,
  TicketRequest,
} from '../backends/backend.js';
import type { Instant } from '../time/clock.js';
import type { CallTerms } from './call-terms.js';
import type { LaneGroup, LaneParts } from './lane.js';
import { Lane, LaneItem } from './lane.js';

/** A request for a ticket, and until when anybody wants it. */
export interface WantedTicket extends TicketRequest {
  /** Monotonic time. */
  readonly deadline: number;
}

export interface AcquireAnswer {
  readonly verdict: AcquireVerdict;
  /** The moment before the call left: a granted ticket lives for a ttl from then, at least. */
  readonly sent: Instant;
  /** Server time at which the next ticket expires, if a request of the call was left in the queue. */
  readonly nearestExpiry: number | undefined;
}

export class AcquireItem extends LaneItem<AcquireAnswer> {
  readonly wanted: WantedTicket;

  constructor(terms: CallTerms, wanted: WantedTicket) {
    super(terms);
    this.wanted = wanted;
  }
}

export class AcquireLane extends Lane<AcquireItem, AcquireReply> {
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  protected override run(
    groups: readonly LaneGroup<AcquireItem>[],
  ): Promise<readonly AcquireReply[]> {
    const wanted = groups.flatMap(({ items }) => items);
    const notAfter = latestUse(wanted, this.parts.clock.monotonic(), this.limit);
    return this.#backend.acquire(
      groups.map(({ terms, items }) => acquireCall(terms, items, notAfter)),
    );
  }

  protected override settle(
    items: readonly AcquireItem[],
    reply: AcquireReply,
    sent: Instant,
  ): void {
    settleAcquired(items, reply, sent);
  }
}

/**
 * Server time after which nobody wants what they ask for: a call that is delayed on its way must not act then. One for all, so
 * that the script gets one set of terms.
 */
export function latestUse(
  items: readonly AcquireItem[],
  now: number,
  limit: number,
): number | undefined {
  let last = 0;
  for (const { wanted } of items) last = Math.max(last, wanted.deadline);
  return items[0]?.terms.serverClock.latestIn(Math.min(Math.max(last - now, 0), limit));
}

export function acquireCall(
  { call, ttl, label }: CallTerms,
  items: readonly AcquireItem[],
  notAfter: number | undefined,
): AcquireCall {
  const { key, limit, client } = call;
  const requests = items.map(({ wanted }) => wanted);
  // Field by field: a spread costs several times as much on this path.
  return { key, limit, client, ttl, label, notAfter, requests };
}

export function settleAcquired(
  items: readonly AcquireItem[],
  { verdicts, nearestExpiry }: AcquireReply,
  sent: Instant,
): void {
  items.forEach((item, i) => {
    const verdict = verdicts[i];
    if (verdict === undefined) item.reject(new Error('the backend gave no verdict'));
    else item.resolve({ verdict, sent, nearestExpiry });
  });
}
