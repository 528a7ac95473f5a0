import type { AcquireCall, AcquireReply, Backend, TicketRequest } from '../backends/backend.js';
import type { CallTerms } from './call-terms.js';
import type { LaneGroup, LaneItem, LaneParts, Sender } from './lane.js';
import { Lane } from './lane.js';

/** A request for a ticket, and until when anybody wants it. */
export interface AcquireItem extends TicketRequest, LaneItem {
  /** Monotonic time. */
  readonly deadline: number;
}

export type AcquireSender = Sender<AcquireItem, AcquireReply>;
export type AcquireGroup = LaneGroup<AcquireItem, AcquireReply>;

export class AcquireLane extends Lane<AcquireItem, AcquireReply> {
  readonly #backend: Backend;

  constructor(backend: Backend, parts: LaneParts, limit: number) {
    super(parts, limit);
    this.#backend = backend;
  }

  /** A request that waits already costs the server twice as much as a new one. */
  protected override weightOf(items: readonly AcquireItem[]): number {
    let weight = items.length;
    for (const { arrival } of items) if (arrival !== undefined) weight += 1;
    return weight;
  }

  protected override run(groups: readonly AcquireGroup[]): Promise<readonly AcquireReply[]> {
    const now = this.parts.clock.monotonic();
    const serverNow = groups[0]?.sender.terms.serverClock.latestIn(0);
    return this.#backend.acquire(
      groups.map(({ sender: { terms }, items }) => {
        const wantedFor = Math.min(timeWanted(items, now), this.limit);
        const notAfter = serverNow === undefined ? undefined : serverNow + wantedFor;
        return acquireCall(terms, items, notAfter);
      }),
    );
  }
}

/**
 * For how long somebody wants what they ask for, in milliseconds: a call that is delayed on its way
 * must not act after that. Rounded up by at most a thirty-second part, so that most semaphores of a
 * call have the same and the script gets few sets of terms.
 */
export function timeWanted(items: readonly AcquireItem[], now: number): number {
  let last = now + 1;
  for (const { deadline } of items) last = Math.max(last, deadline);
  if (last === Infinity) return last;
  const step = 2 ** (Math.floor(Math.log2(last - now)) - 5);
  return Math.ceil((last - now) / step) * step;
}

export function acquireCall(
  { call, ttl, label, maxWaiting, rate }: CallTerms,
  requests: readonly AcquireItem[],
  notAfter: number | undefined,
): AcquireCall {
  const { key, limit, client } = call;
  // Field by field: a spread costs several times as much on this path.
  return { key, limit, client, ttl, label, notAfter, maxWaiting, rate, requests };
}
