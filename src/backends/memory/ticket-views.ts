import type { AcquireVerdict, HolderState, PushedGrant } from '../backend.js';
import { parseTicketId } from '../ticket-id.js';
import { slotsOf } from './free-slots.js';
import type { Ticket } from './live-tickets.js';

/** As `inspect` shows it. */
export function holderState(ticket: Ticket, now: number): HolderState {
  const { id, ranges, fencingToken, expiresAt, label } = ticket;
  const [expiresIn, heldFor] = [expiresAt - now, Math.max(0, now - fencingToken / 1000)];
  return { id, slots: slotsOf(ranges), fencingToken, expiresIn, heldFor, label };
}

export function grantedVerdict({ fencingToken, ranges }: Ticket): AcquireVerdict {
  return { kind: 'granted', fencingToken, slots: slotsOf(ranges) };
}

export function pushedGrant({ id, fencingToken, ranges, expiresAt }: Ticket): PushedGrant {
  return { id, fencingToken, slots: slotsOf(ranges), expiresAt };
}

export function clientOf(id: string): string {
  return parseTicketId(id)?.client ?? '';
}
