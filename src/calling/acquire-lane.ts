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
    const serverNow = groups[0]?.terms.serverClock.latestIn(0);
    return this.#backend.acquire(
      groups.map(({ terms, items }) => {
        const wantedFor = Math.min(timeWanted(items, now), this.limit);
        return acquireCall(
          terms,
          items,
          serverNow === undefined ? undefined : serverNow + wantedFor,
        );
      }),
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
 * For how long somebody wants what they ask for, in milliseconds: a call that is delayed on its way must not act after that. Rounded
 * up by at most a thirty-second part, so that most semaphores of a call have the same and the script gets few sets of terms.
 */
export function timeWanted(items: readonly AcquireItem[], now: number): number {
  let last = now + 1;
  for (const { wanted } of items) last = Math.max(last, wanted.deadline);
  if (last === Infinity) return last;
  const step = 2 ** (Math.floor(Math.log2(last - now)) - 5);
  return Math.ceil((last - now) / step) * step;
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
