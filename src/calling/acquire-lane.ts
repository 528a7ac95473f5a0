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
    const now = this.parts.clock.monotonic();
    return this.#backend.acquire(
      groups.map(({ terms, items }) => acquireCall(terms, items, now, this.limit)),
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

/** A call that is delayed on its way must not act for requests that nobody wants any more. */
export function acquireCall(
  terms: CallTerms,
  items: readonly AcquireItem[],
  now: number,
  limit: number,
): AcquireCall {
  const { call, ttl, label, serverClock } = terms;
  let last = 0;
  for (const { wanted } of items) last = Math.max(last, wanted.deadline);
  const notAfter = serverClock.latestIn(Math.min(Math.max(last - now, 0), limit));
  return { ...call, ttl, label, notAfter, requests: items.map(({ wanted }) => wanted) };
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
