import type { AcquireCall, PushedGrant, SemaphoreKey } from '../backend.js';
import type { Inboxes } from './inboxes.js';
import type { LiveTickets } from './live-tickets.js';
import type { RateRecord } from './rate-record.js';
import { pushedGrant } from './ticket-views.js';
import type { Waiter } from './waiting-flow.js';
import type { WaitingLine } from './waiting-line.js';

interface NoticesParts {
  readonly key: SemaphoreKey;
  readonly tickets: LiveTickets;
  readonly queue: WaitingLine;
  readonly rate: RateRecord;
  readonly inboxes: Inboxes;
}

/** What clients hear of grants, and of when to come back. */
export class Notices {
  readonly #parts: NoticesParts;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
  }

  /** When to come back: see `AcquireReply.askAgainAt`. */
  nearest(
    { requests, client }: AcquireCall,
    head: Waiter | undefined,
    now: number,
  ): number | undefined {
    const { queue, rate, tickets } = this.#parts;
    const { ordered } = queue;
    const first = ordered ? head : queue.firstOf(requests);
    const ahead = (): number => (ordered || first === undefined ? 0 : queue.ahead(first));
    const turn = first?.client === client ? rate.turn(first.permits, ahead, now) : undefined;
    const { nearestExpiry = turn } = tickets;
    return turn === undefined ? nearestExpiry : Math.min(turn, nearestExpiry ?? turn);
  }

  /** To the head that the rate alone holds back, unless its client hears it by a reply. */
  sendTurn(turn: Waiter | undefined, now: number, caller?: string): void {
    const { key, rate, inboxes } = this.#parts;
    const at = turn && rate.turn(turn.permits, () => 0, now);
    if (turn === undefined || at === undefined || turn.client === caller) return;
    inboxes.pushTurn(key, turn.client, { id: turn.id, at });
  }

  /** Notifies other clients of their grants; those of the caller go with its reply. */
  sendGrants(
    granted: readonly Waiter[],
    caller: string,
    own?: ReadonlySet<string>,
  ): readonly PushedGrant[] {
    if (granted.length === 0) return [];
    const { key, tickets, inboxes } = this.#parts;
    const byClient = new Map<string, PushedGrant[]>();
    for (const waiter of granted) {
      const ticket = tickets.get(waiter.id);
      if (ticket === undefined || own?.has(waiter.id) === true) continue;
      const grants = byClient.get(waiter.client) ?? [];
      grants.push(pushedGrant(ticket));
      byClient.set(waiter.client, grants);
    }
    return inboxes.pushGrants(key, byClient, caller);
  }
}
